"""`breadth`: entropy independent of length."""

from __future__ import annotations

import numpy as np

from regard.head_scores._view import Tally, View, plain
from regard.measures.maps import row_evenness
from regard.registry import head


@head(cite="Clark et al. 2019", formula="entropy / ln n", baseline="uniform attention: 1")
def breadth(view: View) -> Tally:
    """Entropy as a share of its maximum: 0 for all weight on one key, 1 for equal weights on all allowed keys."""
    value, defined = row_evenness(view.weights, view.allowed)
    return plain(value, np.ones(len(defined)), defined)
