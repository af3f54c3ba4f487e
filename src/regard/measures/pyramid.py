"""Block pyramids of attention: sums and maxima, each level from the one below, and the error of a sampled base."""

from __future__ import annotations

import numpy as np

from regard.records import Floats, Ints


def coarser_sums(level: Floats) -> Floats:
    """Return (..., row, column) sums over 2 x 2 blocks; an odd edge stands alone.

    >>> coarser_sums(np.ones((3, 3)))
    array([[4., 2.],
           [2., 1.]])
    """
    sums: Floats = _paired(level).sum((-3, -1))
    return sums


def coarser_maxima(level: Floats) -> Floats:
    """Return (..., row, column) maxima over 2 x 2 blocks.

    >>> coarser_maxima(np.arange(9.0).reshape(3, 3))
    array([[4., 5.],
           [7., 8.]])
    """
    maxima: Floats = _paired(level).max((-3, -1))
    return maxima


def _paired(level: Floats) -> Floats:
    """Cut (..., row, column) into (..., row, 2, column, 2), zeros beyond the edge."""
    rows, columns = level.shape[-2:]
    pad = [(0, 0)] * (level.ndim - 2) + [(0, rows % 2), (0, columns % 2)]
    padded = np.pad(level, pad)
    return padded.reshape(*level.shape[:-2], -(-rows // 2), 2, -(-columns // 2), 2)


def sampling_error(sums: Floats, deviation: Floats) -> float:
    """Estimate the relative L1 error of sampled block sums from their standard errors.

    The mean of |error| of a normal with deviation s is s sqrt(2 / pi).
    """
    total = float(np.abs(sums).sum())
    return float(deviation.sum() * np.sqrt(2 / np.pi)) / total if total else 0.0


def block_size(positions: int, most: int = 128) -> int:
    """Return the smallest power of two that cuts so many positions into at most `most` blocks.

    >>> block_size(100), block_size(8192), block_size(8193)
    (1, 64, 128)
    """
    size = 1
    while size * most < positions:
        size *= 2
    return size


def band_mass(weights: Floats, owners: Ints, bands: int) -> Floats:
    """Return (..., band) the mass of each row on the keys of each band; the last band is everything else.

    weights: (..., key). owners: (key,) the band of each key, -1 for none.

    >>> band_mass(np.array([[0.5, 0.25, 0.25]]), np.array([0, -1, 1]), 2)
    array([[0.5 , 0.25, 0.25]])
    """
    known = np.where(owners < 0, bands, owners).astype(np.int64)
    table = np.zeros((len(known), bands + 1), weights.dtype)
    table[np.arange(len(known)), known] = 1.0
    return np.asarray(weights @ table)
