"""Calibration: confidence against correctness."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.measures.intervals import Interval
from regard.measures.keyed_random import keyed_rng

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
BINS = 15
"""Number of bins, as in Guo et al. 2017."""


def brier(distribution: ArrayLike, classes: ArrayLike) -> Floats:
    """(examples,) squared distance between the probabilities and the truth, in 0..2 (Brier 1950, summed over classes).

    >>> brier([[0.8, 0.2], [0.5, 0.5]], [0, 1]).round(2).tolist()
    [0.08, 0.5]
    """
    p, y = np.asarray(distribution, np.float64), np.asarray(classes, np.int64)
    return np.asarray(((p - np.eye(p.shape[1])[y]) ** 2).sum(-1))


def nll(distribution: ArrayLike, classes: ArrayLike, *, floor: float = 1e-12) -> Floats:
    """(examples,) minus the log of the probability of the true class, in nats; probabilities below `floor` count as it.

    >>> nll([[0.5, 0.5]], [1]).round(4).tolist()
    [0.6931]
    """
    p, y = np.asarray(distribution, np.float64), np.asarray(classes, np.int64)
    return np.asarray(-np.log(np.maximum(p[np.arange(len(y)), y], floor)))


def bins_of(confidence: ArrayLike, *, bins: int = BINS, adaptive: bool = False) -> Ints:
    """(examples,) the bin of each: equally wide, or with `adaptive` equally full (ties by position)."""
    c = np.asarray(confidence, np.float64)
    if adaptive:
        place = np.empty(len(c), np.int64)
        place[np.argsort(c, kind="stable")] = np.arange(len(c))
        return place * bins // max(1, len(c))
    return np.clip(np.ceil(c * bins).astype(np.int64) - 1, 0, bins - 1)


def ece(confidence: ArrayLike, right: ArrayLike, *, bins: int = BINS, adaptive: bool = False) -> float:
    """Expected calibration error: mean gap between confidence and accuracy over bins, weighted by size.

    It is biased upwards: with few examples per bin even a calibrated model has one (see `ece_by_chance`).

    >>> round(ece([0.9, 0.9, 0.6, 0.6], [1, 1, 0, 1]), 6)
    0.1
    """
    c, y = np.asarray(confidence, np.float64), np.asarray(right, np.float64)
    if not len(c):
        return float("nan")
    gaps = np.bincount(bins_of(c, bins=bins, adaptive=adaptive), weights=y - c, minlength=bins)
    return float(np.abs(gaps).sum() / len(c))


def ece_by_chance(
    confidence: ArrayLike, *, bins: int = BINS, adaptive: bool = False, seed: int = 0, draws: int = 200
) -> float:
    """Mean ECE of a perfectly calibrated model with these confidences in a sample of this size.

    As consistency resampling (Bröcker & Smith 2007): answers are drawn as right with the stated confidence.
    """
    c = np.asarray(confidence, np.float64)
    if not len(c):
        return float("nan")
    outcomes = keyed_rng(seed, "ece", len(c)).random((draws, len(c))) < c
    return float(np.mean([ece(c, row, bins=bins, adaptive=adaptive) for row in outcomes]))


def ece_interval(
    confidence: ArrayLike,
    right: ArrayLike,
    clusters: Sequence[str],
    *,
    bins: int = BINS,
    adaptive: bool = False,
    level: float = 0.95,
    seed: int = 0,
    draws: int = 500,
) -> Interval:
    """The error with an interval by resampling whole clusters; basic (reflected), because resampling adds to the bias.

    >>> found = ece_interval([0.9] * 20, [1] * 18 + [0] * 2, [str(i) for i in range(20)])
    >>> round(found.estimate, 6), found.low
    (0.0, 0.0)
    """
    c, y = np.asarray(confidence, np.float64), np.asarray(right, np.float64)
    defined = ~(np.isnan(c) | np.isnan(y))
    names = np.asarray(clusters, np.str_)[defined]
    c, y = c[defined], y[defined]
    estimate = ece(c, y, bins=bins, adaptive=adaptive)
    which = np.unique(names, return_inverse=True)[1]
    count = int(which.max(initial=-1)) + 1
    if count < 2:
        return Interval(estimate, float("nan"), float("nan"), level)
    members = [np.flatnonzero(which == k) for k in range(count)]
    rng, resamples = keyed_rng(seed, "ece interval", count), []
    for _ in range(draws):
        rows = np.concatenate([members[k] for k in rng.integers(count, size=count)])
        resamples.append(ece(c[rows], y[rows], bins=bins, adaptive=adaptive))
    low, high = np.quantile(resamples, [(1 - level) / 2, (1 + level) / 2])
    return Interval(estimate, max(0.0, 2 * estimate - float(high)), max(2 * estimate - float(low), estimate), level)
