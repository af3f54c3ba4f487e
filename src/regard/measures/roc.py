"""Area under the ROC curve."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def roc_area(scores: ArrayLike, labels: ArrayLike) -> float:
    """Probability that a positive example scores above a negative one, ties half; NaN if one class is missing.

    >>> roc_area([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1])
    0.75
    """
    s, positive = np.asarray(scores, np.float64), np.asarray(labels, np.bool_)
    _, level, count = np.unique(s, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[level]
    p, n = int(positive.sum()), int((~positive).sum())
    return float((rank[positive].sum() - p * (p + 1) / 2) / (p * n)) if p and n else float("nan")
