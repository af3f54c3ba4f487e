"""Concentration of a relevance, independent of scale and sign."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def shares(values: ArrayLike) -> Floats:
    """(n,) magnitudes as shares of their sum; NaN where all are 0.

    >>> shares([3.0, -1.0]).tolist()
    [0.75, 0.25]
    """
    size = np.abs(np.asarray(values, np.float64))
    whole = size.sum(-1, keepdims=True)
    return np.asarray(np.divide(size, whole, out=np.full(size.shape, np.nan), where=whole > 0))


def gini(values: ArrayLike) -> Floats:
    """(...) Gini coefficient of the magnitudes of (..., n): 0 all alike, (n - 1) / n all in one. NaN where all are 0.

    Sum of (2 i - n - 1) |v|_(i) over n times the sum, in rising order (Hurley & Rickard 2009).

    >>> float(gini([0.0, 0.0, 0.0, 1.0])), float(gini([1.0, 1.0]))
    (0.75, 0.0)
    """
    sorted_ = np.sort(np.abs(np.asarray(values, np.float64)), axis=-1)
    n = sorted_.shape[-1]
    whole = np.asarray(sorted_.sum(-1))
    weighted = np.asarray(((2 * np.arange(1, n + 1) - n - 1) * sorted_).sum(-1))
    return np.asarray(np.divide(weighted, n * whole, out=np.full(whole.shape, np.nan), where=whole > 0))
