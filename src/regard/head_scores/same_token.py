"""`same_token`: attends to the token itself."""

from __future__ import annotations

from regard.head_scores._view import Tally, View, on_keys
from regard.registry import head


@head(
    role="same token",
    positional=True,
    cite="Clark et al. 2019",
    formula="mean over queries of sum_k a_qk [token k = token q]",
)
def same_token(view: View) -> Tally:
    """Mass on keys with the query's own token: its own position and every repetition.

    In cross-attention: keys that hold the token that was just written (copying). Without tokens (pictures, series,
    tables) it is the mass on the query's own position.
    """
    own = view.offset == 0 if view.same_axis else view.none()
    return on_keys(view, view.same | own)
