"""`retrieval`: attends to the token that is copied next."""

from __future__ import annotations

import numpy as np

from regard.head_scores._view import Tally, View
from regard.records import Ints
from regard.registry import head


@head(
    probe=True,
    cite="Wu et al. 2024",
    formula="share of copied tokens (token q+1 stands before) at which argmax_k a_qk holds token q+1",
    baseline="uniform attention: the share of visible keys that hold the copied token",
)
def retrieval(view: View) -> Tally:
    """Share of copied tokens at which the head looks most at the copied position.

    A token counts as copied if it is among the keys that its row sees; keys that tie for the largest weight share the
    count. Causal models read repeated random tokens, where each token of the second half has one source.
    """
    following = _following(view)
    copied = (view.key_tokens == following[:, None]) & (following >= 0)[:, None] & ~view.special & view.allowed
    weights = np.where(view.allowed, view.weights, -1.0)
    largest = (weights == weights.max(-1, keepdims=True)) & view.allowed
    value = (largest & copied).sum(-1) / np.maximum(largest.sum(-1), 1)
    null = copied.sum(-1) / np.maximum(view.allowed.sum(-1), 1)
    spread = np.broadcast_to(null * (1 - null), value.shape)
    return Tally(value, np.broadcast_to(null, value.shape), spread, copied.any(-1))


def _following(view: View) -> Ints:
    """Token after each query; -1 if unknown."""
    following = np.full(len(view.rows), -1, np.int64)
    if view.same_axis and view.site.kind in ("causal", "windowed"):
        inside = view.rows + 1 < len(view.key_tokens)
        following[inside] = view.key_tokens[view.rows[inside] + 1]
    elif view.site.kind == "cross":
        following[:-1] = view.query_tokens[1:]
    return following
