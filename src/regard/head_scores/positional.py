"""`positional`: attends at a fixed offset."""

from __future__ import annotations

from regard.head_scores._view import Tally, View, on_keys
from regard.registry import head


@head(role="offset", positional=True, cite="Voita et al. 2019", formula="mean over queries of a_q,q+offset")
def positional(view: View, *, offset: int = -2) -> Tally:
    """Mass on the position `offset` after the query (before it, if negative).

    Between two axes (cross-attention) 0 is the diagonal: output and input advance together.
    """
    return on_keys(view, view.offset == offset)
