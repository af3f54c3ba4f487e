"""`duplicate_token`: attends to earlier copies of the token."""

from __future__ import annotations

from regard.head_scores._view import Tally, View, on_keys
from regard.registry import head


@head(
    role="duplicate token",
    probe=True,
    cite="Wang et al. 2023",
    formula="mean over queries of sum_k a_qk [token k = token q, k != q]",
)
def duplicate_token(view: View) -> Tally:
    """Mass on other positions with the query's token; causal models read repeated random tokens."""
    return on_keys(view, view.same & (view.offset != 0) if view.same_axis else view.none())
