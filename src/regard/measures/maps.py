"""Shape of attention maps: mass on given keys against the shuffled map, evenness, similarity."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
_CELLS = 1 << 22  # entries of a pairwise comparison held at once


class Mass(NamedTuple):
    """Mass on the chosen keys (head, query), mean and variance of a shuffled row, and the defined rows (query,)."""

    value: Floats
    null: Floats
    variance: Floats
    defined: Bools


def mass_on(weights: Floats, keys: Bools, allowed: Bools) -> Mass:
    """Return the share of each row of (head, query, key) weights that lies on the `keys` keys (query, key).

    The null is the same row with its weights in random order among the `allowed` keys, so it has the same length and
    the same entropy. A sum of t of m weights drawn without replacement has mean t w and variance
    t (m - t) / (m - 1) s^2 (w, s^2: mean and variance of the row), so nothing needs to be drawn. Rows in which no key
    or every key is chosen say nothing.

    >>> found = mass_on(np.array([[[0.7, 0.1, 0.2]]]), np.array([[True, False, False]]), np.ones((1, 3), bool))
    >>> float(found.value[0, 0]), float(found.null[0, 0].round(4))
    (0.7, 0.3333)
    """
    inside = keys & allowed
    t, m = inside.sum(-1), allowed.sum(-1)
    defined = (t > 0) & (t < m)
    value = (weights * inside).sum(-1)
    safe = np.maximum(m, 1)
    mean = (weights * allowed).sum(-1) / safe
    squares = ((weights**2) * allowed).sum(-1) / safe - mean**2
    share = t * (m - t) / np.maximum(m - 1, 1)
    return Mass(value, t * mean, share * np.maximum(squares, 0.0), defined)


def row_evenness(weights: Floats, allowed: Bools) -> tuple[Floats, Bools]:
    """Evenness of each row, and the rows with more than one allowed key.

    Evenness is the entropy as a share of that of a uniform row over the allowed keys (head, query). 0: one key has all
    the weight; 1: all keys have the same.

    >>> value, _ = row_evenness(np.array([[[0.5, 0.5, 0.0, 0.0]]]), np.ones((1, 4), bool))
    >>> float(value[0, 0])
    0.5
    """
    m = allowed.sum(-1)
    return row_entropy(weights) / np.log(np.maximum(m, 2)), m > 1


def row_entropy(weights: Floats) -> Floats:
    """Entropy in nats of each row; a row that sums to less than 1 (a sink outside the keys) is normalised first."""
    total = weights.sum(-1, keepdims=True)
    p = weights / np.where(total > 0, total, 1.0)
    entropies: Floats = -(p * np.log(np.where(p > 0, p, 1.0))).sum(-1)
    return entropies


def map_divergences(maps: Floats) -> Floats:
    """(map, map) Jensen-Shannon divergence in nats between every two of (map, row, key), averaged over the rows.

    >>> map_divergences(np.array([[[1.0, 0.0]], [[0.0, 1.0]], [[1.0, 0.0]]])).round(4).tolist()
    [[0.0, 0.6931, 0.0], [0.6931, 0.0, 0.6931], [0.0, 0.6931, 0.0]]
    """
    n, rows, keys = maps.shape
    own = row_entropy(maps)
    out = np.zeros((n, n))
    step = max(1, _CELLS // max(1, n * rows * keys))
    for start in range(0, n, step):
        middle = 0.5 * (maps[start : start + step, None] + maps[None])
        half = 0.5 * (own[start : start + step, None] + own[None])
        out[start : start + step] = (row_entropy(middle) - half).mean(-1)
    return np.maximum(out, 0.0)


def tight_groups(distances: Floats, within: float) -> Ints:
    """(n,) the group of each item: complete linkage, so every two members of a group are at most `within` apart.

    Groups are numbered by their first member; equal distances are joined in order of position.

    >>> tight_groups(np.array([[0, .1, .9], [.1, 0, .9], [.9, .9, 0]]), within=0.2).tolist()
    [0, 0, 1]
    """
    n = len(distances)
    member = np.arange(n)
    apart = np.array(distances, np.float64, copy=True)
    np.fill_diagonal(apart, np.inf)
    while n > 1:
        at = int(np.argmin(apart))
        i, j = sorted(divmod(at, n))
        if not apart[i, j] <= within:
            break
        joined = np.maximum(apart[i], apart[j])
        apart[i], apart[:, i] = joined, joined
        apart[i, i] = np.inf
        apart[j], apart[:, j] = np.inf, np.inf
        member[member == j] = i
    return np.unique(member, return_inverse=True)[1].astype(np.int64)
