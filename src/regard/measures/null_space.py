"""Null space of attention: the part without effect on the output (Brunner et al. 2020)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


class Effective(NamedTuple):
    """Effective attention.

    dimension: of the left null space of the values. unseen: (query,) share of the length of each row of weights that
    lies in it. weights: (query, key) the rest, the effective attention.
    """

    dimension: int
    unseen: Floats
    weights: Floats


def effective_attention(weights: ArrayLike, values: ArrayLike, *, tolerance: float = 1e-5) -> Effective:
    """Weights (query, key) without their part in the null space of values (key, feature): W V stays as it is.

    With more keys than features many attentions give the same output; they differ by rows of this null space.
    Singular values below `tolerance` times the largest count as zero. Deviation from the paper: the values are taken
    before the output projection, which has full rank for all practical purposes and then adds nothing to the space.

    >>> found = effective_attention([[0.5, 0.5, 0.0]], [[1.0], [1.0], [0.0]])
    >>> found.dimension, found.weights.round(4).tolist()
    (2, [[0.5, 0.5, 0.0]])
    """
    a, v = np.asarray(weights, np.float64), np.asarray(values, np.float64)
    left, sizes, _ = np.linalg.svd(v, full_matrices=False)
    basis = left[:, sizes > tolerance * max(float(sizes.max(initial=0.0)), 1e-300)]
    visible = (a @ basis) @ basis.T
    length = np.linalg.norm(a, axis=-1)
    unseen = np.linalg.norm(a - visible, axis=-1) / np.where(length > 0, length, 1.0)
    return Effective(v.shape[0] - basis.shape[1], unseen, visible)
