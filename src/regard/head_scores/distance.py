"""`distance`: mean attention distance."""

from __future__ import annotations

import numpy as np

from regard.head_scores._view import Tally, View, plain
from regard.registry import head


@head(cite="Vig & Belinkov 2019", formula="sum_k a_qk |q - k|", baseline="uniform attention over the allowed keys")
def distance(view: View) -> Tally:
    """Mean distance in positions between query and attended keys; only for queries and keys on one axis."""
    away = np.abs(view.offset).astype(np.float64)
    total = view.weights.sum(-1)
    value = (view.weights * away).sum(-1) / np.where(total > 0, total, 1.0)
    keys = view.allowed.sum(-1)
    null = (away * view.allowed).sum(-1) / np.maximum(keys, 1)
    return plain(value, null, (keys > 1) & view.same_axis)
