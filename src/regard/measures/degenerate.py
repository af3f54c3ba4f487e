"""Degenerate attention: distance of weights from uniform, and from being equal for two inputs.

Both gaps are in units of the equal share 1 / n of a row with n keys to choose from, so that one limit serves short and
long inputs. Rows with fewer than two keys (the first word of a causal model) leave no choice and are not counted.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LIMIT: Final = 1e-3
"""Gap below which a row counts as uniform: a thousandth of the equal share.

Freshly initialised models are nearly uniform, but their gap is above 0.01.
"""


def uniform_gap(weights: NDArray[Any]) -> Floats:
    """Return (head,): the largest |n w - 1| over the rows of weights (head, query, key); NaN if undefined.

    NaN if no row has two keys, or if a weight is NaN.

    n counts the keys with any weight; rows are brought to a sum of 1 first (a sink takes part of some).

    >>> uniform_gap(np.array([[[0.5, 0.5, 0.0]], [[0.75, 0.25, 0.0]]]))
    array([0. , 0.5])
    """
    rows = np.asarray(weights, np.float64)
    keys, choice = _keys(rows)
    share = rows / np.where(choice, rows.sum(-1), 1.0)[..., None]
    gap = np.where(rows > 0, np.abs(keys[..., None] * share - 1.0), 0.0).max(-1)
    return np.where(_unknown(rows), np.nan, _largest(gap, choice))


def constant_gap(one: NDArray[Any], other: NDArray[Any]) -> Floats:
    """Return (head,): the largest n |w - w'| between the weights (head, query, key) of two inputs.

    NaN if no row has two keys in both.

    >>> constant_gap(np.array([[[0.5, 0.5]]]), np.array([[[0.75, 0.25]]]))
    array([0.5])
    """
    a, b = np.asarray(one, np.float64), np.asarray(other, np.float64)
    keys, choice = _keys(a)
    _, also = _keys(b)
    gap = (keys[..., None] * np.abs(a - b)).max(-1)
    return np.where(_unknown(a) | _unknown(b), np.nan, _largest(gap, choice & also))


def _unknown(weights: Floats) -> NDArray[np.bool_]:
    """(head,): whether a weight is NaN, so that nothing follows from the others."""
    return np.asarray(~np.isfinite(weights).all((-2, -1)))


def _keys(rows: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """(head, query): keys with any weight, and whether there are two."""
    keys = (rows > 0).sum(-1).astype(np.float64)
    return keys, keys >= 2


def _largest(gap: Floats, counted: NDArray[np.bool_]) -> Floats:
    largest = np.where(counted, gap, -np.inf).max(-1, initial=-np.inf)
    return np.where(np.isfinite(largest), largest, np.nan)
