"""Decomposition of attention: the contribution of each key to a position. Numpy, one example.

A part is the vector that key k adds to position q: sum over heads of weights[h, q, k] values[h, k]. There are q x k of
them with d features each; none of the functions here makes them all.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]
Floats = NDArray[np.float64]

CHUNK = 1 << 22
"""Maximum entries of part vectors in memory if the Gram identity does not apply (norms other than L2)."""


AT_ONCE = 64
"""Number of queries whose weights are transposed at a time."""


def part_norms(weights: Array, values: Array, own: Array | None = None) -> Floats:
    """(query, key) Euclidean norms of the parts, by the Gram identity.

    ||sum_h a_h v_h||^2 = a^T G a with G[h, g] = v_h . v_g for each key: memory does not grow with queries x features.
    weights: (head, query, key). values: (head, key, feature). own: (query, feature), the residual part of position q,
    which belongs to the part of key q (only for square attention).

    >>> a, v = np.full((2, 1, 1), 0.5), np.array([[[3.0, 0.0]], [[0.0, 4.0]]])
    >>> part_norms(a, v).tolist()
    [[2.5]]
    """
    heads, queries, keys = weights.shape
    v = np.swapaxes(values, 0, 1)  # (key, head, feature)
    gram = v @ v.swapaxes(1, 2)
    squares = np.empty((queries, keys))
    for start in range(0, queries, AT_ONCE):
        block = weights[:, start : start + AT_ONCE]
        a = np.empty((keys, heads, block.shape[1]), weights.dtype)
        for h in range(heads):  # head by head: a turned copy of all at once would miss the cache at every number
            a[:, h] = block[h].T
        squares[start : start + AT_ONCE] = np.einsum("khq,khq->kq", gram @ a, a).T
    if own is not None:
        place = np.arange(len(own))
        vectors = (weights[:, place, place].T[:, None] @ v[place])[:, 0] + own
        squares[place, place] = np.einsum("qd,qd->q", vectors, vectors, dtype=np.float64)
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)))


def part_distances(weights: Array, values: Array, whole: Array, own: Array | None = None) -> Floats:
    """(query, key) L1 distances between the whole position and each of its parts (Ferrando et al. 2022).

    whole: (query, feature). Positions are taken a few at a time.
    """
    _, queries, keys = weights.shape
    flat = np.ascontiguousarray(np.swapaxes(values, 0, 1))  # (key, head, feature)
    out = np.empty((queries, keys))
    step = max(1, CHUNK // max(1, keys * values.shape[2]))
    for start in range(0, queries, step):
        block = slice(start, min(start + step, queries))
        a = np.ascontiguousarray(np.moveaxis(weights[:, block], 0, -1).swapaxes(0, 1))  # (key, query, head)
        vectors = a @ flat  # (key, query, feature)
        if own is not None:
            place = np.arange(block.start, block.stop)
            vectors[place, place - start] += own[block]
        np.subtract(whole[block], vectors, out=vectors)
        out[block] = np.abs(vectors, out=vectors).sum(-1, dtype=np.float64).T
    return out


def through_norm(vectors: Array, scale: Array, *, centred: bool) -> Array:
    """The linear part of a normalisation without its spread: scale (v - mean v), or scale v."""
    shifted = vectors - vectors.mean(-1, keepdims=True) if centred else vectors
    return np.asarray(shifted * scale, vectors.dtype)


def shares(matrix: Array) -> Floats:
    """(query, key): rows divided by their sums; a zero row stays zero."""
    m = np.asarray(matrix, np.float64)
    total = m.sum(-1, keepdims=True)
    return m / np.where(total > 0, total, 1.0)
