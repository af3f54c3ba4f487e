"""Centre of mass of relevance, and its shift."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def middles(places: ArrayLike) -> Floats:
    """(n, axes) the middle of each place, every axis scaled to 0..1 over all places.

    places: (n, 2) ranges, (n, 4) boxes top, left, bottom, right, or (n, 1) positions.

    >>> middles([[0, 0, 1, 1], [0, 1, 1, 2]]).tolist()
    [[0.5, 0.25], [0.5, 0.75]]
    """
    p = np.asarray(places, np.float64)
    half = p.shape[1] // 2
    start, stop = (p[:, :half], p[:, half:]) if half else (p, p + 1)
    if not len(p):
        return np.zeros((0, max(1, half)))
    low, high = start.min(0), stop.max(0)
    return np.asarray(((start + stop) / 2 - low) / np.where(high > low, high - low, 1.0))


def centre_of_mass(weights: ArrayLike, positions: ArrayLike) -> Floats:
    """(axes,) the mean position weighted by |weights|; NaN where all are 0.

    >>> centre_of_mass([1.0, -3.0], [[0.0], [1.0]]).tolist()
    [0.75]
    """
    w, x = np.abs(np.asarray(weights, np.float64)), np.asarray(positions, np.float64)
    total = w.sum()
    return np.asarray(w @ x / total) if total > 0 else np.full(x.shape[1], np.nan)


def centre_shift(before: ArrayLike, after: ArrayLike, positions: ArrayLike) -> float:
    """Shift of the centre as a share of the largest possible shift (Ghorbani et al. 2019 in pixels): 0..1."""
    x = np.asarray(positions, np.float64)
    shift = centre_of_mass(before, x) - centre_of_mass(after, x)
    return float(np.linalg.norm(shift) / np.sqrt(x.shape[1]))
