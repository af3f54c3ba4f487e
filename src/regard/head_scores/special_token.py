"""`special_token`: attends to special tokens."""

from __future__ import annotations

import numpy as np

from regard.head_scores._view import Tally, View, on_keys
from regard.registry import head


@head(
    role="special tokens",
    positional=True,
    resting=True,
    cite="Clark et al. 2019",
    formula="mean over queries of the mass on special keys",
)
def special_token(view: View) -> Tally:
    """Mass on all special units ([CLS], [SEP], a class token); undefined without one."""
    return on_keys(view, np.broadcast_to(view.special, view.allowed.shape))
