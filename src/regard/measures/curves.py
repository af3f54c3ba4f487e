"""Removal curves: the prediction while units are removed. Numpy or torch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from regard.measures.divergence import Array


def aopc(drops: Array, *, count_zero_bin: bool = False, axis: int = -1) -> Array:
    """Area over the perturbation curve: the mean of the drops f(x) - f(x without the top k), k over the bins.

    Divisor convention: the number of bins, as in the released code of ERASER (DeYoung et al. 2020). With
    `count_zero_bin` it is the number of bins + 1, as in the formula of the paper (whose k = 0 term is 0): over
    five bins the first is 6/5 of the second.

    >>> import numpy as np
    >>> drops = np.array([0.1, 0.1, 0.2, 0.2, 0.4])
    >>> float(aopc(drops).round(4)), float(aopc(drops, count_zero_bin=True).round(4))
    (0.2, 0.1667)
    """
    xp = array_namespace(drops)
    return xp.sum(drops, axis=axis) / (drops.shape[axis] + (1 if count_zero_bin else 0))


def bin_sizes(n: int, fractions: Sequence[float]) -> NDArray[np.int64]:
    """Convert fractions of n units to counts: rounded up, at least one (zero where there are no units).

    >>> bin_sizes(30, (0.01, 0.05, 0.1, 0.2, 0.5)).tolist()
    [1, 2, 3, 6, 15]
    """
    # 0.1 * 30 is 3.0000000000000004 in floating point, and three is what was meant
    sizes = np.ceil(np.asarray(fractions, np.float64) * n - 1e-9).astype(np.int64)
    return np.clip(sizes, min(1, n), n)


def area(curve: Array, grid: Sequence[float], *, axis: int = -1) -> Array:
    """The area under a curve by the trapezoid rule, over the width of the grid: the mean height.

    >>> import numpy as np
    >>> float(area(np.array([1.0, 0.5, 0.0]), (0.0, 0.5, 1.0)))
    0.5
    """
    xp = array_namespace(curve)
    heights = xp.moveaxis(curve, axis, -1)
    widths = xp.asarray(np.diff(np.asarray(grid, np.float64)) / (grid[-1] - grid[0]), dtype=curve.dtype)
    return xp.sum((heights[..., 1:] + heights[..., :-1]) / 2 * widths, axis=-1)
