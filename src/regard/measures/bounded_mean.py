"""Tests and intervals of a mean that hold for bounded, skewed and clustered values.

A pseudo-observation lies at the bound on the side that contradicts a claim; the examples and the pseudo-observation get
independent exponential weights, and p is the probability that the weighted mean is on that side (Gaffke 2005; for
yes-or-no values the exact binomial tail). So a sample that happens to miss rare large values cannot claim that there
are none. The tail is that of a sum of weighted exponentials, by the saddlepoint approximation of Lugannani and Rice
(1980). Clusters (patients, documents) are weighted as wholes: their deviations are divided by one minus their part of
all examples, as a jackknife does (CR3), and the tail is that of Student's t with the degrees of freedom of the
effective number of clusters. The pseudo-observation weighs as much as the clusters that make the sum skewed: the mean
weight where each counts by its square (for clusters of one size, that size).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.measures.intervals import ClusterSums, Interval

Floats = NDArray[np.float64]
Claim = Literal["above", "below"]
Scale = Literal["any", "unknown", "signed", "none"]
FEWEST_CLUSTERS: Final = 10
"""Minimum independent draws for a claim; below, intervals are infinitely wide."""
COMMON: Final = 0.5
"""Share of draws with one common value that shows that most of them do not move: rare ones may move all the way."""
ALIKE: Final = 1e-9
NEARLY: Final = 0.02
"""Tolerance within which values count as equal, for claims of the judge and for intervals of tables.

The judge knows the bounds of its values; tables do not, and values that are nearly 0 hide rare large ones as zeros do.
"""
_NORMAL = NormalDist()
_SCALES: Final = ((0.0, 1.0), (-1.0, 1.0))


@dataclass(frozen=True, slots=True, eq=False)
class BoundedMean:
    """The mean of the examples, as a weighted mean of clusters.

    means: of each cluster, spread for the leverage of unequal clusters; weights: their numbers of examples. reach: the
    lowest and the highest value that one more cluster may have.
    """

    estimate: float
    means: Floats
    weights: Floats
    reach: tuple[float, float]
    freedom: float

    @staticmethod
    def of(
        sums: ClusterSums,
        bounds: tuple[float, float] | None = None,
        *,
        spread: float = 1.0,
        scale: Scale = "any",
        alike: float = ALIKE,
    ) -> BoundedMean:
        """Build from values and clusters. bounds: lowest and highest possible value, if known; otherwise inferred.

        Without bounds the pseudo-observation is as far from the mean as the farthest value, and up to three times as
        far where few values make the variance; where most draws are 0 or an end of 0..1 or -1..1 and all lie in it, it
        is the end of that scale. spread: a factor for all deviations, where the examples are not all that is drawn.
        scale: "signed" for differences, whose scale is -1..1 at most; "unknown" for values that may be differences
        unless all are 0 or 1; "none" for values all alike of which are certain.
        alike: how far from 0 or an end of the scale a value may be to count as that.
        """
        weights = sums.count.astype(np.float64)
        values = sums.total / weights
        estimate = sums.mean
        part = weights / weights.sum()
        deviations = spread * (values - estimate) / np.maximum(1.0 - part, 1e-9)
        deviations -= float(part @ deviations)
        clusters = max(1.0, 1.0 / float(part @ part))
        reach = bounds or _scale(values, scale, alike) or _reach(values, estimate, deviations, signed=scale == "signed")
        reach = (min(reach[0], estimate), max(reach[1], estimate))
        return BoundedMean(estimate, estimate + deviations, weights, reach, max(1.0, clusters - 1.0))

    def p(self, claim: Claim, margin: float, *, times: float = 1.0, shift: float = 0.0) -> float:
        """p-value of a mean this far on the claimed side of the margin, if the truth were on the other side.

        times: pretend that there are so many times as many clusters; shift: pretend that their mean is larger by this
        much.
        """
        way = 1.0 if claim == "below" else -1.0
        end = self.reach[1] if claim == "below" else self.reach[0]
        against = way * np.append(self.weights * (self.means + shift - margin), self._one_more * (end - margin))
        if float(np.abs(against).max()) < 1e-12:
            return 1.0
        tail = exponential_tail(against, np.append(np.full(len(self.means), times), 1.0) if times != 1.0 else None)
        if tail <= 0.0 or tail >= 1.0 or math.isinf(self.freedom):
            return tail
        return _student_tail(-_NORMAL.inv_cdf(max(tail, 1e-300)), (self.freedom + 1.0) * times - 1.0)

    @property
    def _one_more(self) -> float:
        """Weight of the pseudo-observation.

        The skew of a sum of weighted values grows with sum w^3 / sum w^2. With the plain mean weight, the rate of wrong
        claims at a nominal 5 % was up to 9 % for clusters of very unequal sizes (benchmarks/coverage.py).
        """
        squares = self.weights * self.weights
        return float(squares @ self.weights / squares.sum())

    def limit(self, claim: Claim, level: float) -> float:
        """The margin at which the p of the claim is `level` (one-sided): the end of the interval on that side."""
        inside = self.estimate
        outside = self.reach[0] if claim == "above" else self.reach[1]
        if abs(outside - inside) < 1e-12:
            return inside
        goal = -_NORMAL.inv_cdf(level)

        def height(margin: float) -> float:
            return -_NORMAL.inv_cdf(min(max(self.p(claim, margin), 1e-300), 1 - 1e-16)) - goal

        # the quantile of p is nearly a straight line in the margin: secants, kept between the two sides
        low, high = inside, outside
        if height(outside) <= 0:
            return outside
        spread = math.sqrt(
            float((self.weights * (self.means - self.estimate)) @ (self.weights * (self.means - inside)))
        )
        guess = inside + math.copysign(goal * spread / float(self.weights.sum()), outside - inside)
        before = (inside, height(inside))
        margin = guess if min(low, high) < guess < max(low, high) else (low + high) / 2
        for _ in range(60):
            value = height(margin)
            low, high = (margin, high) if value <= 0 else (low, margin)
            if abs(value) < 1e-7 or abs(high - low) < 1e-12:
                break
            slope = (value - before[1]) / (margin - before[0])
            before, step = (margin, value), margin - value / slope if slope else math.nan
            margin = step if min(low, high) < step < max(low, high) else (low + high) / 2
        return margin

    def interval(self, level: float) -> tuple[float, float]:
        """Two-sided interval; each end is the limit of a one-sided claim at half of the remaining level."""
        tail = (1.0 - level) / 2.0
        return self.limit("above", tail), self.limit("below", tail)


def _reach(values: Floats, estimate: float, deviations: Floats, *, signed: bool) -> tuple[float, float]:
    """Largest deviation to both sides, times the kurtosis relative to a normal distribution (1 to 3)."""
    squares = deviations**2
    variance = float(squares.mean())
    kurtosis = float((squares**2).mean()) / variance**2 if variance > 0 else 3.0
    farthest = min(3.0, max(1.0, kurtosis / 3.0)) * math.sqrt(float(squares.max(initial=0.0)))
    low, high = estimate - farthest, estimate + farthest
    if signed or values.min() < 0:
        return low, high
    return max(0.0, low), min(1.0, high) if values.max() <= 1 else high


def _scale(values: Floats, scale: Scale, alike: float) -> tuple[float, float] | None:
    """Natural scale of values of which most equal one end of it, or 0."""
    if not len(values) or scale == "none":
        return None
    shares = [float((np.abs(values - end) <= alike).mean()) for end in (0.0, 1.0, -1.0)]
    if max(shares) < COMMON:
        return None
    may_be_negative = scale == "signed" or (scale == "unknown" and not np.isin(values, (0.0, 1.0)).all())
    ends = _SCALES[1:] if may_be_negative else _SCALES
    return next((pair for pair in ends if pair[0] <= values.min() and values.max() <= pair[1]), None)


def _student_tail(t: float, freedom: float) -> float:
    """`upper_tail` for one number."""
    bent = math.sqrt(freedom * math.log1p(t * t / freedom)) * (8 * freedom + 1) / (8 * freedom + 3)
    return 0.5 * math.erfc(math.copysign(bent, t) / math.sqrt(2.0))


def exponential_tail(coefficients: ArrayLike, counts: ArrayLike | None = None) -> float:
    """P(sum of coefficient x E >= 0) for independent exponential E of mean 1; counts: how many E each one has.

    >>> round(exponential_tail([-0.02] * 150 + [0.98]), 4), round(0.98**150, 4)
    (0.0486, 0.0483)
    >>> exponential_tail([-1.0, -2.0]), exponential_tail([1.0, 0.0]), round(exponential_tail([1.0, -1.0]), 3)
    (0.0, 1.0, 0.5)
    """
    a = np.asarray(coefficients, np.float64)
    largest = float(np.abs(a).max(initial=0.0))
    if largest == 0.0:
        return 1.0
    a = a / largest
    lowest, highest = float(a.min()), float(a.max())
    if lowest >= 0.0:
        return 1.0
    if highest <= 0.0:
        return 0.0
    number = np.ones(len(a)) if counts is None else np.asarray(counts, np.float64)
    s = _saddlepoint(a, number, 1.0 / lowest, 1.0 / highest)
    rest = 1.0 - s * a
    ratio = a / rest
    squares = float((number * ratio) @ ratio)
    w = math.copysign(math.sqrt(max(0.0, 2.0 * float(number @ np.log(rest)))), s)
    u = s * math.sqrt(squares)
    if abs(w) < 1e-4:  # the mean is 0: the limit of the formula
        skew = 2.0 * float(number @ ratio**3) / math.pow(squares, 1.5)
        return min(1.0, max(0.0, 0.5 - w / math.sqrt(2 * math.pi) - skew / (6 * math.sqrt(2 * math.pi))))
    density = math.exp(-0.5 * w * w) / math.sqrt(2 * math.pi)
    return min(1.0, max(0.0, 0.5 * math.erfc(w / math.sqrt(2.0)) + density * (1.0 / u - 1.0 / w)))


def _saddlepoint(a: Floats, counts: Floats, low: float, high: float) -> float:
    """Find the root of sum a / (1 - s a), which increases between its two poles, by Newton steps kept between them."""
    total = float(counts.sum())
    s = 0.0
    for _ in range(80):
        ratio = a / (1.0 - s * a)
        weighted = counts * ratio
        value, slope = float(weighted.sum()), float(weighted @ ratio)
        low, high = (s, high) if value < 0 else (low, s)
        if abs(value) < 1e-10 * math.sqrt(slope) * total:
            break
        step = s - value / slope
        s = step if low < step < high else (low + high) / 2.0
    return s


def cluster_interval(
    sums: ClusterSums,
    *,
    level: float = 0.95,
    bounds: tuple[float, float] | None = None,
    scale: Scale = "any",
) -> Interval:
    """The mean over all examples with its interval; few clusters make it wide, and one leaves it open (NaN).

    If most values are nearly 0 or nearly an end of 0..1 or -1..1, rare ones may lie anywhere on that scale, seen or
    not, and the interval allows for them.

    >>> sums = ClusterSums.of([0.0] * 60, [str(i) for i in range(60)])
    >>> found = cluster_interval(sums)
    >>> found.low, round(found.high, 3)
    (0.0, 0.061)
    """
    if len(sums.names) < 2:
        return Interval(sums.mean, math.nan, math.nan, level)
    low, high = _ends(sums.total.tobytes(), sums.count.tobytes(), bounds, scale, level)
    return Interval(sums.mean, low, high, level)


@lru_cache(maxsize=1 << 14)
def _ends(
    totals: bytes, counts: bytes, bounds: tuple[float, float] | None, scale: Scale, level: float
) -> tuple[float, float]:
    """Cached interval of equal values, since tables, curves and the report's check request the same ones."""
    total, count = np.frombuffer(totals, np.float64), np.frombuffer(counts, np.int64)
    sums = ClusterSums(names=tuple(map(str, range(len(total)))), total=total, count=count, undefined=0)
    return BoundedMean.of(sums, bounds, scale=scale, alike=NEARLY).interval(level)
