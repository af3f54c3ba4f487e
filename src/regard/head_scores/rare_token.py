"""`rare_token`: attends to the rarest token."""

from __future__ import annotations

import numpy as np

from regard.head_scores._view import Tally, View, on_keys
from regard.registry import head


@head(role="rare token", cite="Voita et al. 2019", formula="mean over queries of the mass on the rarest token")
def rare_token(view: View) -> Tally:
    """Mass on the example's rarest token in this corpus, at any position; ties share it.

    Counts come from the audited corpus; a small corpus gives unreliable counts.
    """
    plain = ~view.special & (view.key_tokens >= 0)
    if not plain.any():
        return on_keys(view, view.none())
    least = view.count[plain].min()
    return on_keys(view, np.broadcast_to(plain & (view.count == least), view.allowed.shape))
