"""Conicity: alignment of a set of vectors (Chandrahas et al. 2018; Mohankumar et al. 2020)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def conicity(states: ArrayLike) -> NDArray[np.float64]:
    """(...,) mean cosine between each of (..., n, feature) vectors and their mean, in 0..1.

    Near 1, any weighting of the states gives nearly the same mixture, so attention over them says little. n vectors of
    random directions in a space of many dimensions have about 1 / sqrt(n).

    >>> float(conicity([[1.0, 0.0], [1.0, 0.0]])), float(conicity([[1.0, 0.0], [0.0, 1.0]]).round(4))
    (1.0, 0.7071)
    """
    h = np.asarray(states, np.float64)
    mean = h.mean(-2, keepdims=True)
    lengths = np.linalg.norm(h, axis=-1) * np.linalg.norm(mean, axis=-1)
    cosines = (h * mean).sum(-1) / np.where(lengths > 0, lengths, 1.0)
    mean_cosines: NDArray[np.float64] = np.where(lengths > 0, cosines, 0.0).mean(-1)
    return mean_cosines
