"""Confidence intervals: cluster bootstrap (patients, authors, documents); for shares, Wilson and Clopper-Pearson."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.errors import phrase
from regard.measures.keyed_random import keyed_rng

Floats = NDArray[np.float64]
_CELLS = 1 << 22  # resampled entries held at once


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its interval. low and high are NaN with fewer than two clusters, which cannot be resampled."""

    estimate: float
    low: float
    high: float
    level: float


@dataclass(frozen=True, slots=True)
class ClusterSums:
    """Sums and counts per cluster, sorted by name: enough for means and bootstraps.

    >>> sums = ClusterSums.of([1.0, 2.0, 4.0, float("nan")], ["a", "b", "a", "b"])
    >>> sums.names, sums.total.tolist(), sums.count.tolist(), sums.undefined
    (('a', 'b'), [5.0, 2.0], [2, 1], 1)
    """

    names: tuple[str, ...]
    total: Floats
    count: NDArray[np.int64]
    undefined: int

    @staticmethod
    def of(values: ArrayLike, clusters: Sequence[str]) -> ClusterSums:
        """Build the sums. NaN and infinite values count as undefined; clusters without any other value are skipped."""
        v = np.asarray(values, np.float64)
        if v.shape != (len(clusters),):
            raise ValueError(phrase("errors.measures.value_per_cluster", shape=v.shape, clusters=len(clusters)))
        defined = np.isfinite(v)
        names, where = np.unique(np.asarray(clusters, np.str_)[defined], return_inverse=True)
        # sorted within a cluster, so that the sum does not depend on the order in which shards came back
        by = np.lexsort((v[defined], where))
        total = np.bincount(where[by], weights=v[defined][by], minlength=len(names)).astype(np.float64)
        count = np.bincount(where, minlength=len(names)).astype(np.int64)
        return ClusterSums(tuple(map(str, names)), total, count, int((~defined).sum()))

    @property
    def n(self) -> int:
        return int(self.count.sum())

    @property
    def mean(self) -> float:
        return float(self.total.sum() / self.count.sum()) if self.n else float("nan")


def bootstrap(
    sums: ClusterSums,
    *,
    seed: int = 0,
    level: float = 0.95,
    draws: int = 2000,
    kind: Literal["percentile", "bca"] = "percentile",
) -> Interval:
    """The mean over all examples, with whole clusters drawn with replacement.

    The resamples depend on seed and number of clusters only: two methods judged on the same examples are resampled
    alike, and so is their difference. "bca" corrects bias and skew (Efron 1987; jackknife over clusters).
    """
    c = len(sums.names)
    if c < 2:
        return Interval(sums.mean, float("nan"), float("nan"), level)
    single = bool((sums.count == 1).all())
    means = []
    for resample in _resamples(seed, c, draws):
        size = c if single else sums.count[resample].sum(-1)
        means.append(sums.total[resample].sum(-1) / size)
    drawn_means = np.concatenate(means)
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    if kind == "bca":
        tails = _bca_tails(sums, drawn_means, tails)
    low, high = np.quantile(drawn_means, tails)
    return Interval(sums.mean, float(low), float(high), level)


def _resamples(seed: int, c: int, draws: int) -> Iterator[NDArray[np.int64]]:
    """(some draws, c) clusters drawn with replacement, until there are `draws`; small arrays are cached."""
    if draws * c <= _CELLS // 2:
        yield _cached_resamples(seed, c, draws)
        return
    rng, step = keyed_rng(seed, "bootstrap", c), max(1, _CELLS // c)
    for start in range(0, draws, step):
        yield rng.integers(c, size=(min(step, draws - start), c))


@lru_cache(maxsize=4)
def _cached_resamples(seed: int, c: int, draws: int) -> NDArray[np.int64]:
    resamples = keyed_rng(seed, "bootstrap", c).integers(c, size=(draws, c))
    resamples.flags.writeable = False
    return resamples


def _bca_tails(sums: ClusterSums, means: Floats, tails: Floats) -> Floats:
    normal = NormalDist()
    # ties count half, so that a statistic with few values is not called biased; an end of the line has no quantile
    below = float(np.mean(means < sums.mean) + np.mean(means == sums.mean) / 2)
    z0 = normal.inv_cdf(min(max(below, 0.5 / len(means)), 1 - 0.5 / len(means)))
    left_out = (sums.total.sum() - sums.total) / (sums.count.sum() - sums.count)
    d = left_out.mean() - left_out
    scale = 6 * (d @ d) ** 1.5
    a = float((d**3).sum() / scale) if scale > 0 else 0.0
    z = np.array([normal.inv_cdf(float(t)) for t in tails])
    adjusted = z0 + (z0 + z) / (1 - a * (z0 + z))
    return np.array([normal.cdf(float(m)) for m in adjusted])


def wilson(successes: ArrayLike, n: ArrayLike, *, level: float = 0.95) -> tuple[Floats, Floats]:
    """(low, high) of Wilson's score interval for a share; 0..1 where n = 0.

    >>> low, high = wilson(8, 10)
    >>> float(low.round(3)), float(high.round(3))
    (0.49, 0.943)
    """
    k, m = np.asarray(successes, np.float64), np.asarray(n, np.float64)
    z = NormalDist().inv_cdf((1 + level) / 2)
    safe = np.maximum(m, 1)
    share = k / safe
    middle = (share + z * z / (2 * safe)) / (1 + z * z / safe)
    half = z / (1 + z * z / safe) * np.sqrt(share * (1 - share) / safe + z * z / (4 * safe * safe))
    low = np.where(m > 0, np.clip(middle - half, 0, 1), 0.0)
    high = np.where(m > 0, np.clip(middle + half, 0, 1), 1.0)
    return low, high


@cache
def clopper_pearson(successes: int, n: int, *, level: float = 0.95) -> tuple[float, float]:
    """Exact (low, high) interval for a share, by inverting the binomial tails; 0..1 for n = 0.

    Each end is missed with a probability of at most (1 - level) / 2, whatever the share and however few the draws.

    >>> low, high = clopper_pearson(8, 10)
    >>> round(low, 4), round(high, 4)
    (0.4439, 0.9748)
    """
    if not 0 <= successes <= n:
        raise ValueError(phrase("errors.measures.successes", n=n, successes=successes))
    tail = (1 - level) / 2
    low = 0.0 if not successes else _share_with_tail(successes, n, tail)
    # successes and failures change places
    high = 1.0 if successes == n else 1 - _share_with_tail(n - successes, n, tail)
    return low, high


def _share_with_tail(k: int, n: int, tail: float) -> float:
    """Find the share p with P(X >= k) = tail for X binomial(n, p), by bisection."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if binomial_tail(k, n, middle) < tail else (low, middle)
    return (low + high) / 2


def binomial_tail(k: int, n: int, p: float) -> float:
    """P(X >= k) of a binomial with n draws of chance p.

    >>> round(binomial_tail(2, 2, 0.5), 6), binomial_tail(0, 5, 0.1)
    (0.25, 1.0)
    """
    if k <= 0 or p >= 1:
        return 1.0
    if p <= 0 or k > n:
        return 0.0
    i = np.arange(k, n + 1, dtype=np.float64)
    log_binomials = math.lgamma(n + 1) - _log_factorials(n)[k:] - _log_factorials(n)[: n - k + 1][::-1]
    return float(min(1.0, np.exp(log_binomials + i * math.log(p) + (n - i) * math.log1p(-p)).sum()))


@cache
def _log_factorials(n: int) -> Floats:
    """(n + 1,) log 0!, log 1!, ..., log n!"""
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1, dtype=np.float64)))])
