"""Rankings that are robust to rounding noise.

Float32 sums depend on the shape of the batch, so two values closer than `TIE` count as equal, and equals are
ranked by position. All functions work along the last axis of a numpy array.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.errors import phrase

TIE = 1e-6
"""Values this close are tied."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def _sorted_levels(values: ArrayLike, tolerance: float) -> tuple[Ints, Ints]:
    """(positions in descending order, level of each of them), both of the shape of `values`."""
    v = np.asarray(values, np.float64)
    if np.isnan(v).any():
        raise ValueError(phrase("errors.measures.nan_has_no_rank"))
    shape, n = v.shape, v.shape[-1]
    v = v.reshape(int(np.prod(shape[:-1])), n)
    positions = np.argsort(-v, axis=-1)
    down = np.take_along_axis(v, positions, -1)
    with np.errstate(invalid="ignore"):  # inf - inf is NaN, which is no gap
        starts = np.concatenate([np.ones((len(v), min(1, n)), bool), down[:, :-1] - down[:, 1:] > tolerance], -1)
    level = np.broadcast_to(np.arange(n), v.shape)
    tied = np.flatnonzero(~starts.all(-1))
    if len(tied):  # most rows have no ties, and the sort alone settles them
        level = level.copy()
        positions[tied], level[tied] = _with_ties(positions[tied], down[tied], starts[tied], tolerance)
    return positions.reshape(shape), level.reshape(shape)


def _with_ties(positions: Ints, down: Floats, starts: NDArray[np.bool_], tolerance: float) -> tuple[Ints, Ints]:
    index = np.broadcast_to(np.arange(down.shape[-1]), down.shape)
    head = np.maximum.accumulate(np.where(starts, index, 0), axis=-1)
    # A run of small gaps may span more than one tolerance: cut it into bins that hang from its top,
    # else a long even slope (a thousand nearly equal weights) would be one tie.
    with np.errstate(invalid="ignore"):
        depth = np.nan_to_num((np.take_along_axis(down, head, -1) - down) / (tolerance or 1.0))
    bins = np.maximum(np.floor(depth - 1e-9), 0)
    starts[:, 1:] |= bins[:, 1:] != bins[:, :-1]
    level = np.cumsum(starts, axis=-1) - 1
    final = np.lexsort((positions, level), axis=-1)
    return np.take_along_axis(positions, final, -1), np.take_along_axis(level, final, -1)


def order(values: ArrayLike, *, tolerance: float = TIE) -> Ints:
    """(..., n) positions from the largest value to the smallest; ties within `tolerance` by position.

    >>> order([0.2, 0.5, 0.5 + 1e-9, 0.1]).tolist()
    [1, 2, 0, 3]
    """
    return _sorted_levels(values, tolerance)[0]


def levels(values: ArrayLike, *, tolerance: float = TIE) -> Ints:
    """(..., n) dense ranks, 0 for the largest; tied values share a level.

    >>> levels([0.2, 0.5, 0.5 + 1e-9, 0.1]).tolist()
    [1, 0, 0, 2]
    """
    positions, level = _sorted_levels(values, tolerance)
    out = np.empty_like(level)
    np.put_along_axis(out, positions, level, -1)
    return out


def top_k(values: ArrayLike, k: int, *, tolerance: float = TIE) -> NDArray[np.bool_]:
    """(..., n) mask of the k largest values (all of them where n <= k).

    >>> top_k([0.2, 0.5, 0.1], 2).tolist()
    [True, True, False]
    """
    if k < 0:
        raise ValueError(phrase("errors.measures.k_negative", k=k))
    positions = order(values, tolerance=tolerance)
    mask = np.zeros(positions.shape, np.bool_)
    np.put_along_axis(mask, positions[..., :k], True, -1)
    return mask


def ranks(values: ArrayLike, *, tolerance: float = TIE) -> Floats:
    """(..., n) ranks from 1 for the smallest value; tied values share their mean rank.

    >>> ranks([10.0, 30.0, 30.0, 20.0]).tolist()
    [1.0, 3.5, 3.5, 2.0]
    """
    positions, level = _sorted_levels(values, tolerance)
    n = positions.shape[-1]
    index = np.broadcast_to(np.arange(n), level.shape)
    new = np.ones(level.shape, np.bool_)
    new[..., 1:] = level[..., 1:] != level[..., :-1]
    last = np.ones(level.shape, np.bool_)
    last[..., :-1] = new[..., 1:]
    first_of = np.maximum.accumulate(np.where(new, index, 0), axis=-1)
    last_of = np.flip(np.minimum.accumulate(np.flip(np.where(last, index, n), -1), axis=-1), -1)
    out = np.empty(level.shape, np.float64)
    np.put_along_axis(out, positions, n - (first_of + last_of) / 2, -1)
    return out
