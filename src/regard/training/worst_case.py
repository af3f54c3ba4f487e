"""Worst-case change of a given size, and a random one of the same size; both per example, within a Euclidean ball."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from regard.errors import InputError, phrase
from regard.training.loss import Outcome, SecondPass

SMALLEST = 1e-12


def replay(outcome: Outcome, who: str) -> SecondPass:
    """Return the second pass of a batch; refuse a network that cannot run again."""
    if outcome.again is None:
        raise InputError(
            phrase("errors.training.term_text", text=who),
            expected=phrase("errors.training.network_that_can_run_again"),
            got=phrase("errors.training.answers_alone"),
        )
    return outcome.again


def norms(x: Tensor) -> Tensor:
    """(batch, 1, ...): Euclidean norm of each example, in a shape that broadcasts.

    >>> norms(torch.tensor([[[3.0, 4.0]], [[0.0, 0.0]]])).flatten().tolist()
    [5.0, 0.0]
    """
    flat: Tensor = x.flatten(1).norm(dim=1)
    return flat.view(len(x), *[1] * (x.dim() - 1))


def steepest(gradient: Tensor, radius: Tensor | float) -> Tensor:
    """Change of norm `radius` along the gradient; zero without a gradient (Miyato et al. 2017).

    >>> steepest(torch.tensor([[3.0, 4.0]]), 10.0).tolist()
    [[6.0, 8.0]]
    """
    return radius * gradient / norms(gradient).clamp_min(SMALLEST)


def random_change(like: Tensor, radius: Tensor | float, real: Tensor | None = None) -> Tensor:
    """Draw a change of norm `radius` in a random direction, 0 on padding: the baseline of a worst case."""
    return steepest(kept(torch.randn_like(like), real), radius)


def kept(x: Tensor, real: Tensor | None) -> Tensor:
    """Return `x` with 0 on padding."""
    return x if real is None else x * real.view(*real.shape, *[1] * (x.dim() - real.dim())).to(x)


def ascent(
    loss: Callable[[Tensor], Tensor],
    like: Tensor,
    radius: Tensor | float,
    *,
    steps: int = 1,
    start: Tensor | None = None,
) -> list[Tensor]:
    """Return increasingly harmful changes by projected gradient ascent, `steps` of them (Madry et al. 2018).

    Each is a step of radius x 1.5 / steps along the gradient of the loss there, projected back into the ball. One step
    is the fast gradient method, at the edge of the ball. loss: change (batch, ...) -> scalar, in the graph. The
    changes are detached from the graph.
    """
    change = torch.zeros_like(like) if start is None else start
    rate = 1.0 if steps == 1 else 1.5 / steps
    changes = []
    for _ in range(steps):
        leaf = change.detach().requires_grad_()
        with torch.enable_grad():
            (gradient,) = torch.autograd.grad(loss(leaf), leaf)
        change = change + steepest(gradient, radius * rate)
        size = norms(change)
        change = change * torch.clamp(radius / size.clamp_min(SMALLEST), max=1.0)
        changes.append(change.detach())
    return changes
