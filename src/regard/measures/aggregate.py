"""Pooling of small units into larger ones: sub-words into words, patches into objects."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Pooling = Literal["sum", "mean", "max", "first"]


def pool(values: ArrayLike, groups: ArrayLike, *, how: Pooling = "sum") -> NDArray[np.float64]:
    """(g,) one value per group, from (n,) values and (n,) group numbers 0..g-1; -1 belongs to no group.

    "max" keeps the value of largest magnitude with its sign, the first of equals. Sum conserves the total, which
    is what additive relevances ask for; mean does not reward long words. A group number that never occurs gets 0.

    >>> pool([0.0, 0.1, 0.3, -0.2], [-1, 0, 0, 1]).tolist()
    [0.4, -0.2]
    """
    v, g = np.asarray(values, np.float64), np.asarray(groups, np.int64)
    inside = g >= 0
    v, g = v[inside], g[inside]
    size = int(g.max()) + 1 if len(g) else 0
    if how in ("sum", "mean"):
        total = np.bincount(g, weights=v, minlength=size).astype(np.float64)
        return total if how == "sum" else total / np.maximum(np.bincount(g, minlength=size), 1)
    out = np.zeros(size)
    if how == "first":
        ranked = np.arange(len(v))[::-1]
    elif how == "max":
        ranked = np.lexsort((-np.arange(len(v)), np.abs(v)))
    else:
        raise ValueError(f"how must be sum, mean, max or first, got {how!r}")
    out[g[ranked]] = v[ranked]  # of repeated assignments the last one stays
    return out


def bounds(places: ArrayLike, groups: ArrayLike) -> NDArray[np.float64]:
    """(g, width) the place of each group: the smallest place that covers its members.

    Spans and ranges (start, end), boxes (top, left, bottom, right), columns (one number: the first).

    >>> bounds([[0, 0], [0, 4], [4, 7], [8, 9]], [-1, 0, 0, 1]).tolist()
    [[0.0, 7.0], [8.0, 9.0]]
    """
    p, g = np.asarray(places, np.float64), np.asarray(groups, np.int64)
    inside = g >= 0
    p, g = p[inside], g[inside]
    size, width = (int(g.max()) + 1 if len(g) else 0), p.shape[1]
    low, high = np.full((size, width), np.inf), np.full((size, width), -np.inf)
    np.minimum.at(low, g, p)
    np.maximum.at(high, g, p)
    half = max(1, width // 2)
    return np.where(np.arange(width) < half, low, high)
