"""`induction`: attends to the token that followed the previous occurrence."""

from __future__ import annotations

import numpy as np

from regard.head_scores._view import Tally, View, on_keys
from regard.registry import head


@head(
    role="induction",
    probe=True,
    cite="Olsson et al. 2022",
    formula="mean over queries of sum_k a_qk [token k-1 = token q, k-1 != q]",
)
def induction(view: View) -> Tally:
    """Mass on keys that follow the query's token; causal models read repeated random tokens."""
    before = np.roll(view.same, 1, axis=1)
    before[:, 0] = False
    return on_keys(view, before & ~view.special & (view.offset != 1) if view.same_axis else before & ~view.special)
