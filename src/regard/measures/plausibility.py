"""Plausibility: overlap of a relevance with the rationale of a person or of the data generator."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.measures.ranking import levels

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


def inside(places: ArrayLike, rationale: Sequence[Sequence[float]]) -> Bools:
    """(n,) which units lie, at least in part, in a marked place.

    places: (n, 2) spans or ranges, (n, 4) boxes top, left, bottom, right, or (n, 1) columns; rationale: likewise.
    Ranges of time mark the boxes of a spectrogram over their whole height.

    >>> inside([(0, 0, 8, 8), (0, 8, 8, 16)], [(9.0, 12.0)]).tolist()
    [False, True]
    >>> inside([(0, 4), (5, 9), (9, 9)], [(6.0, 9.0)]).tolist()
    [False, True, False]
    """
    own = np.asarray(places, np.float64)
    if not len(rationale) or not len(own):
        return np.zeros(len(own), np.bool_)
    regions = np.asarray(rationale, np.float64)
    if own.shape[1] == 1:
        return np.asarray((own == regions[:, 0]).any(-1))
    if own.shape[1] == 4 and regions.shape[1] == 2:
        own = own[:, [1, 3]]
    half = own.shape[1] // 2
    low = np.maximum(own[:, None, :half], regions[None, :, :half])
    high = np.minimum(own[:, None, half:], regions[None, :, half:])
    return np.asarray((low < high).all(-1).any(-1))


def f1(predicted: ArrayLike, gold: ArrayLike) -> float:
    """F1 of two masks; NaN if the gold mask is empty.

    >>> f1([True, True, False], [True, False, False])
    0.6666666666666666
    """
    a, b = np.asarray(predicted, np.bool_), np.asarray(gold, np.bool_)
    size = int(a.sum()) + int(b.sum())
    return 2 * float((a & b).sum()) / size if b.any() else float("nan")


def iou_f1(predicted: ArrayLike, gold: ArrayLike, *, threshold: float = 0.5) -> float:
    """F1 over runs of marked units (DeYoung et al. 2020); NaN if the gold mask is empty.

    A run counts as found if it shares at least `threshold` of its union with one of the other mask.

    >>> iou_f1([True, True, False, True], [True, True, True, False])
    0.6666666666666666
    """
    a, b = runs(predicted), runs(gold)
    if not len(b):
        return float("nan")
    if not len(a):
        return 0.0
    shared = np.minimum(a[:, None, 1], b[None, :, 1]) - np.maximum(a[:, None, 0], b[None, :, 0])
    shared = np.maximum(shared, 0)
    union = (a[:, 1] - a[:, 0])[:, None] + (b[:, 1] - b[:, 0])[None] - shared
    hit = shared >= threshold * union
    precision, recall = float(hit.any(1).mean()), float(hit.any(0).mean())
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def runs(mask: ArrayLike) -> Ints:
    """(runs, 2) first and one after the last position of every run of True.

    >>> runs([True, True, False, True]).tolist()
    [[0, 2], [3, 4]]
    """
    edge = np.flatnonzero(np.diff(np.concatenate([[0], np.asarray(mask, np.int8), [0]])))
    return np.asarray(edge.reshape(-1, 2), np.int64)


def average_precision(values: ArrayLike, gold: ArrayLike) -> float:
    """Area under the precision-recall curve by its steps, sum of (R_k - R_(k-1)) P_k; tied values are one step.

    NaN where the gold mask is empty or everything.

    >>> average_precision([0.9, 0.1, 0.5], [True, False, False])
    1.0
    """
    mask = np.asarray(gold, np.bool_)
    if not mask.any() or mask.all():
        return float("nan")
    level = levels(values)
    hits = np.cumsum(np.bincount(level, weights=mask, minlength=int(level.max()) + 1))
    ranked = np.cumsum(np.bincount(level, minlength=int(level.max()) + 1))
    return float((np.diff(np.concatenate([[0.0], hits])) / mask.sum() * hits / ranked).sum())


def expected_average_precision(values: ArrayLike, gold: ArrayLike) -> float:
    """Chance level of `average_precision`: its mean over all orders of the same values, ties included.

    With n units, m of them marked, and levels of tied values of size s that end at rank S:
    sum over levels of s / (n S) * (1 + (m - 1) (S - 1) / (n - 1)), because the number of marked units among the first S
    is hypergeometric. Without ties this is (H_n + (m - 1) / (n - 1) * (n - H_n)) / n, H_n the harmonic number. It lies
    above the share of marked units, m / n, unless all values are tied. NaN where the gold mask is empty or everything.

    >>> round(expected_average_precision(range(8), [True] + [False] * 7), 4)
    0.3397
    >>> expected_average_precision([0.5] * 8, [True] + [False] * 7)
    0.125
    """
    mask = np.asarray(gold, np.bool_)
    if not mask.any() or mask.all():
        return float("nan")
    n, m = len(mask), int(mask.sum())
    sizes = np.bincount(levels(values)).astype(np.float64)
    sizes = sizes[sizes > 0]
    ends = np.cumsum(sizes)
    return float((sizes / (n * ends) * (1 + (m - 1) * (ends - 1) / (n - 1))).sum())
