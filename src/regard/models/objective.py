"""The objective: one scalar per example, for gradients and perturbations.

The value is the log-odds of the target against the rest, so that it does not saturate where a probability does;
the probability is the same on a 0..1 scale. All functions are differentiable and compute in at least float32.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor


class TensorAnswers(NamedTuple):
    """value (batch,), probability (batch,), distribution (batch, classes) or None."""

    value: Tensor
    probability: Tensor
    distribution: Tensor | None = None


def wide(x: Tensor) -> Tensor:
    """Convert to float32 or wider: sums over classes lose everything in half precision."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def log_odds(logits: Tensor, target: Tensor) -> Tensor:
    """(batch,) z_target - logsumexp of the other classes: exactly log p / (1 - p).

    >>> log_odds(torch.tensor([[2.0, 0.5]]), torch.tensor([0]))
    tensor([1.5000])
    """
    logits = wide(logits)
    of_target = logits.gather(-1, target[:, None]).squeeze(-1)
    rest = logits.scatter(-1, target[:, None], float("-inf"))
    return of_target - torch.logsumexp(rest, dim=-1)


def as_logits(given: Tensor) -> Tensor:
    """Return logits; take logarithms if a model outputs probabilities (nonnegative rows that sum to 1).

    Decided row by row, so that the rest of the batch has no influence.

    >>> as_logits(torch.tensor([[0.25, 0.75]])).softmax(-1)
    tensor([[0.2500, 0.7500]])
    """
    if given.shape[-1] < 2:
        return given
    values = given.detach()
    likely = (values >= 0).all(-1, keepdim=True) & ((values.double().sum(-1, keepdim=True) - 1).abs() <= 2e-6)
    if not bool(likely.any()):
        return given
    return torch.where(likely, given.clamp(min=torch.finfo(given.dtype).tiny).log(), given)


def one_of_many(logits: Tensor, target: Tensor, *, classes: bool = True) -> TensorAnswers:
    """Single-label: softmax over the classes. One logit stands for two classes, the second if it is positive."""
    if logits.shape[-1] == 1:
        score = wide(logits.squeeze(-1))
        score_of_yes = torch.sigmoid(score)
        value = torch.where(target == 1, score, -score)
        return TensorAnswers(value, torch.sigmoid(value), torch.stack([1 - score_of_yes, score_of_yes], dim=-1))
    value = log_odds(logits, target)
    return TensorAnswers(value, torch.sigmoid(value), torch.softmax(wide(logits), dim=-1) if classes else None)


def each_alone(logits: Tensor, target: Tensor) -> TensorAnswers:
    """Multi-label: every label is an independent yes or no."""
    logits = wide(logits)
    value = logits.gather(-1, target[:, None]).squeeze(-1)
    return TensorAnswers(value, torch.sigmoid(value), torch.sigmoid(logits))


def number(outputs: Tensor, target: Tensor) -> TensorAnswers:
    """Regression: the output itself; `target` selects one of several."""
    value = wide(outputs).gather(-1, target[:, None]).squeeze(-1)
    return TensorAnswers(value, value)


def span(start: Tensor, end: Tensor, first: Tensor, last: Tensor) -> TensorAnswers:
    """Log-odds of the span (first, last) among all pairs, where start and end are chosen independently."""
    start, end = wide(start), wide(end)
    log_a, log_b = (F.log_softmax(x, -1).gather(-1, i[:, None]).squeeze(-1) for x, i in ((start, first), (end, last)))
    not_a = log_a - log_odds(start, first)  # log(1 - p), without ever forming 1 - p
    not_b = log_b - log_odds(end, last)
    value = log_a + log_b - torch.logaddexp(not_a, log_a + not_b)
    return TensorAnswers(value, torch.sigmoid(value))


def sequence(logits: Tensor, targets: Tensor, real: Tensor) -> TensorAnswers:
    """Teacher-forced log-probability of a target sequence; the probability is the geometric mean per token."""
    every = F.log_softmax(wide(logits), dim=-1).gather(-1, targets[..., None]).squeeze(-1)
    value = torch.where(real, every, torch.zeros_like(every)).sum(-1)
    return TensorAnswers(value, torch.exp(value / real.sum(-1).clamp(min=1)))


def mean_pool(states: Tensor, mask: Tensor) -> Tensor:
    """(batch, features) the mean of the real positions."""
    weight = mask.to(states.dtype)[..., None]
    return (states * weight).sum(1) / weight.sum(1).clamp(min=1e-9)


def likeness(embedding: Tensor, other: Tensor, own: Tensor) -> TensorAnswers:
    """Cosine with the embedding of another text.

    If `own` is True, the other is the unmodified embedding of the text itself. The cosine has no slope there (it is at
    its maximum), so the value is the projection on that embedding, 1 if unmodified.
    """
    embedding, other = wide(embedding), wide(other)
    cosine = F.cosine_similarity(embedding, other, dim=-1)
    share = (embedding * other).sum(-1) / other.pow(2).sum(-1).clamp(min=1e-12)
    return TensorAnswers(torch.where(own, share, cosine), (1 + cosine) / 2)
