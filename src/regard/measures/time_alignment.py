"""Alignment of written tokens with time: the monotone path that a cross-attention follows through a sound."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from regard.records import Floats, Ints


class TimePath(NamedTuple):
    """Monotone path. first, last: (token,) frames of each token, inclusive.

    mass: the share of a token's attention that lies in its own frames, mean over tokens; the frames of all tokens
    together are all frames.
    """

    first: Ints
    last: Ints
    mass: float


def monotone_path(weights: Floats) -> TimePath:
    """Cut the frames of (token, frame) weights into one run per token, in order, with the most attention inside.

    Dynamic programming over frames: a frame belongs to the token of the frame before it, or to the next one. Rows are
    normalised, so that every token counts as much as the others. With fewer frames than tokens, tokens share frames.

    >>> path = monotone_path(np.array([[0.9, 0.1, 0.0, 0.0], [0.0, 0.2, 0.7, 0.1], [0.0, 0.0, 0.1, 0.9]]))
    >>> path.first.tolist(), path.last.tolist(), round(path.mass, 2)
    ([0, 1, 3], [0, 2, 3], 0.9)
    """
    values = np.asarray(weights, np.float64)
    tokens, frames = values.shape
    if frames < tokens:
        first = np.minimum(np.arange(tokens) * frames // max(1, tokens), max(0, frames - 1))
        return TimePath(first, first, float("nan"))
    total = values.sum(1, keepdims=True)
    values = values / np.where(total > 0, total, 1.0)
    best = np.full(tokens, -np.inf)
    best[0] = values[0, 0]
    came = np.zeros((frames, tokens), np.bool_)
    for frame in range(1, frames):
        before = np.append(-np.inf, best[:-1])
        came[frame] = before > best
        best = np.where(came[frame], before, best) + values[:, frame]
    owner = np.zeros(frames, np.int64)
    token = tokens - 1
    for frame in range(frames - 1, -1, -1):
        owner[frame] = token
        token -= int(came[frame, token])
    first = np.searchsorted(owner, np.arange(tokens), side="left")
    last = np.searchsorted(owner, np.arange(tokens), side="right") - 1
    return TimePath(first, last, float(best[-1] / tokens))


def trimmed(weights: Floats, first: int, last: int, *, tail: float = 0.05) -> tuple[int, int]:
    """Trim the ends of the frames from `first` to `last` that hold less than `tail` of the attention between them.

    >>> trimmed(np.array([0.0, 0.01, 0.5, 0.45, 0.01, 0.0]), 0, 5)
    (2, 3)
    """
    inside = np.asarray(weights, np.float64)[first : last + 1]
    total = inside.sum()
    if not total > 0:
        return first, last
    share = np.cumsum(inside) / total
    begin = int(np.searchsorted(share, tail))
    end = int(np.searchsorted(share, 1 - tail))
    return first + begin, first + min(end, len(inside) - 1)
