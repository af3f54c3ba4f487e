"""`next_token`: attends one position ahead."""

from __future__ import annotations

from regard.head_scores._view import Tally, View, on_keys
from regard.registry import head


@head(role="next token", positional=True, cite="Voita et al. 2019", formula="mean over queries of a_q,q+1")
def next_token(view: View) -> Tally:
    """Mass on the position after the query; undefined under a causal mask."""
    return on_keys(view, view.offset == 1 if view.same_axis else view.none())
