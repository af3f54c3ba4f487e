"""Log-odds of an answer: per token from logits, of a span from its tokens, in float64."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from regard.errors import InputError, phrase
from regard.records import Floats

ROWS = 64
"""Rows of logits to convert to float64 at once."""


def token_log_odds(logits: Tensor, ids: Tensor, *, subject: str) -> Floats:
    """Return (rows,) log p / (1 - p) of the token `ids[i]` under `logits[i]`.

    The probability of the other tokens is summed by itself, so a token of probability 1 - 1e-12 keeps its digits.
    """
    starts = range(0, len(ids), ROWS)
    parts = [_log_odds(logits[start : start + ROWS], ids[start : start + ROWS]).cpu().numpy() for start in starts]
    log_odds: Floats = np.concatenate(parts) if parts else np.zeros(0)
    if np.isnan(log_odds).any():
        raise InputError(
            phrase("errors.common.model_live", live=subject),
            expected=phrase("errors.common.numbers"),
            got="NaN",
            remedy=phrase("errors.models.check_weights_model"),
        )
    return log_odds


def differentiable_log_odds(logits: Tensor, ids: Tensor, owners: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return (count,) the log-odds and (count,) the log-probabilities of spans, with gradients.

    owners: (rows,) the span of every row. The log-odds equal `span_log_odds` of `token_log_odds`.
    """
    surprises = torch.nn.functional.softplus(-_log_odds(logits, ids))
    surprise = torch.zeros(count, dtype=torch.float64, device=logits.device).index_add(0, owners, surprises)
    return -(surprise + torch.log(-torch.expm1(-surprise))), -surprise


def log_probabilities(log_odds: Floats) -> Floats:
    """Return the log p of tokens from their log-odds."""
    return -np.logaddexp(0.0, -log_odds)


def span_log_odds(log_odds: Floats) -> Floats:
    """Return the log-odds of whole spans, whose tokens are the last axis: log P / (1 - P), log P summed over tokens.

    >>> float(span_log_odds(np.array([0.7])).round(6))
    0.7
    >>> p = 1 / (1 + np.exp(-np.array([0.7, -0.2])))
    >>> bool(np.isclose(span_log_odds(np.array([0.7, -0.2])), np.log(p.prod() / (1 - p.prod()))))
    True
    """
    surprise = np.logaddexp(0.0, -log_odds).sum(-1)
    odds: Floats = -(surprise + np.log(-np.expm1(-surprise)))
    return odds


def weighted_probability(log_p: Floats, weights: Floats) -> float:
    """Return the weighted geometric mean of probabilities; equal weights if all are 0.

    >>> round(weighted_probability(np.log([0.5, 0.125, 0.9]), np.array([1.0, 1.0, 0.0])), 6)
    0.25
    """
    return float(np.exp(np.average(log_p, weights=weights if weights.any() else None)))


def _log_odds(logits: Tensor, ids: Tensor) -> Tensor:
    rows, tokens = logits.double(), ids[:, None]
    return rows.gather(1, tokens)[:, 0] - torch.logsumexp(rows.scatter(1, tokens, -torch.inf), 1)
