"""`entropy`: entropy of a head's attention, in nats."""

from __future__ import annotations

import numpy as np

from regard.head_scores._view import Tally, View, plain
from regard.measures.maps import row_entropy
from regard.registry import head


@head(cite="Clark et al. 2019", formula="-sum_k a_qk ln a_qk", baseline="uniform attention: ln of the number of keys")
def entropy(view: View) -> Tally:
    """Mean entropy of a head's rows in nats: 0 with all weight on one key, ln n for n equal weights."""
    keys = view.allowed.sum(-1)
    return plain(row_entropy(view.weights), np.log(np.maximum(keys, 1)), keys > 1)
