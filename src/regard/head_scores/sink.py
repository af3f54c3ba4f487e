"""`sink`: attention on the first position."""

from __future__ import annotations

import numpy as np

from regard.head_scores._view import Tally, View, on_keys
from regard.registry import head


@head(
    role="sink",
    positional=True,
    resting=True,
    cite="Xiao et al. 2024",
    formula="mean over queries beyond position 4 of a_q0",
)
def sink(view: View, *, beyond: int = 4) -> Tally:
    """Mass on the first key, over queries after the first `beyond` + 1 positions.

    If queries and keys are on different axes: over all queries.
    """
    first = np.arange(view.weights.shape[2]) == 0
    late = view.rows > beyond if view.same_axis else np.ones(len(view.rows), np.bool_)
    return on_keys(view, late[:, None] & first)
