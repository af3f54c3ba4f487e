"""Is a mean above or below a margin? One-sided tests on per-example values, clustered, and never NaN."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from regard.judge.margins import LEVEL
from regard.measures.alpha_spending import deciding_looks, level_now, overall_p
from regard.measures.bounded_mean import FEWEST_CLUSTERS, BoundedMean
from regard.measures.intervals import ClusterSums
from regard.measures.significance import t_quantile, upper_tail
from regard.records import Contrast, Floats, Json, Text

MOST = 100_000
"""More examples than this are no answer to "how many would decide it"."""
SPREAD = 1.5
"""Predictive standard deviations of the range of examples that would decide; calibrated in benchmarks/coverage.py."""
ONE_LOOK = (1.0,)


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of per-example values with its cluster-robust error.

    Claims and intervals are those of `BoundedMean`, which hold for skewed values and few or unequal clusters; error is
    the plain standard error. fractions: the information at every look so far (see `alpha_spending`); p is for all of
    them together. looks: the numbers of examples at those looks, where known.
    """

    estimate: float
    error: float
    n: int
    clusters: int
    freedom: float | None = None
    """Degrees of freedom where they are not those of the clusters."""
    fractions: tuple[float, ...] = ONE_LOOK
    looks: tuple[int, ...] = ()
    bounds: tuple[float, float] | None = None
    """The lowest and the highest possible value, where known."""
    bounded: BoundedMean | None = field(default=None, compare=False, repr=False)
    """None where only the numbers above are known: then the test is Student's."""

    @staticmethod
    def over_seeds(values: Floats, clusters: ArrayLike, *, fractions: tuple[float, ...] = ONE_LOOK) -> Mean:
        """Build the mean of (example, seed) values, with the sampling error of both examples and seeds.

        The two variances are added (which counts what they share twice), the degrees of freedom are Satterthwaite's.
        One seed alone is no sample of seeds: then the mean is about that one.
        """
        finite = np.isfinite(values)
        examples_with_data = finite.any(-1)
        rows = np.where(finite, values, 0.0).sum(-1)[examples_with_data] / finite.sum(-1)[examples_with_data]
        names = np.asarray(clusters, np.str_)[examples_with_data]
        by_example = Mean.of(rows, names, fractions=fractions)
        seeds_with_data = finite.any(0)
        by_seed = np.where(finite, values, 0.0).sum(0)[seeds_with_data] / np.maximum(finite.sum(0)[seeds_with_data], 1)
        count = len(by_seed)
        if count < 2 or by_example.clusters < 2:
            return by_example
        example_variance, seed_variance = by_example.error**2, float(by_seed.var(ddof=1)) / count
        variance = example_variance + seed_variance
        share = example_variance**2 / (by_example.clusters - 1) + seed_variance**2 / (count - 1)
        freedom = variance**2 / share if share > 0 else None
        bounded = None
        if example_variance > 0 and freedom is not None:
            spread = math.sqrt(variance / example_variance)
            bounded = replace(BoundedMean.of(_sums(rows, names), spread=spread), freedom=freedom)
        return replace(by_example, error=math.sqrt(variance), freedom=freedom, bounded=bounded)

    @staticmethod
    def of(
        values: Floats,
        clusters: ArrayLike,
        *,
        share: bool = False,
        bounds: tuple[float, float] | None = None,
        fractions: tuple[float, ...] = ONE_LOOK,
        looks: tuple[int, ...] = (),
    ) -> Mean:
        """NaN and infinity are no values. share: they are yes or no. bounds: the lowest and highest possible value."""
        bounds = (0.0, 1.0) if share else bounds
        sums = _sums(values, clusters)
        count = len(sums.names)
        if not sums.n:
            return Mean(math.nan, math.nan, 0, 0, fractions=fractions)
        deviations = sums.total - sums.count * sums.mean
        variance = count / max(1, count - 1) * float(deviations @ deviations) / sums.n**2
        return Mean(
            estimate=sums.mean,
            error=math.sqrt(variance),
            n=sums.n,
            clusters=count,
            fractions=fractions,
            looks=looks,
            bounds=bounds,
            bounded=BoundedMean.of(sums, bounds),
        )

    def p(self, claim: Literal["above", "below"], margin: float) -> float:
        """p-value of a mean this far on the claimed side of the margin, if the truth were on the other side, over all
        looks.
        """
        return overall_p(self._p_now(claim, margin), self.fractions_of(claim, margin))

    def fractions_of(self, claim: Literal["above", "below"], margin: float) -> tuple[float, ...]:
        """The looks that share the level of this claim: those at which it could have passed.

        Values at the end of their bounds that speaks for the claim give p = (1 - d) ** draws at least, d being the
        distance of the margin from that end as a part of the range: "below .02" needs 150 draws, and no look before.
        """
        if self.bounds is None or len(self.looks) != len(self.fractions):
            return self.fractions
        low, high = self.bounds
        against = (high - margin if claim == "below" else margin - low) / max(high - low, 1e-300)
        if not 0.0 < against < 1.0:
            return self.fractions
        least = tuple(against ** min(n, self.clusters) for n in self.looks[:-1])
        return deciding_looks(self.fractions, least, LEVEL)

    def _p_now(self, claim: Literal["above", "below"], margin: float) -> float:
        """p-value as if this were the only look."""
        if self.clusters < FEWEST_CLUSTERS:
            return 1.0
        if self.bounded is not None:
            return self.bounded.p(claim, margin)
        way = self.estimate - margin if claim == "above" else margin - self.estimate
        if self.error < 1e-12:
            return 0.0 if way > 1e-12 else 1.0
        return float(upper_tail(way / self.error, self._freedom))

    @property
    def _freedom(self) -> float:
        return self.clusters - 1 if self.freedom is None else self.freedom

    def interval(self, level: float) -> tuple[float, float]:
        """Two-sided, as if this were the only look; infinitely wide where there are too few draws."""
        if self.clusters < FEWEST_CLUSTERS:
            return (-math.inf, math.inf) if self.n else (math.nan, math.nan)
        if self.bounded is not None:
            return self.bounded.interval(level)
        half = t_quantile((1 - level) / 2, self._freedom) * self.error
        return self.estimate - half, self.estimate + half

    def decides_at(self, claim: Literal["above", "below"], margin: float, level: float, drift: float = 0.0) -> float:
        """Examples at which the claim passes at this level, if the rest is like these; infinite where it never does.

        drift: standard deviations by which the mean of all of them is nearer to the claim than that of these. What it
        may still move by is the predictive spread, error x sqrt(1 - these / all).
        """
        if not self.n or math.isnan(self.estimate):
            return math.inf
        now = level_now(level, self.fractions_of(claim, margin))
        way = 1.0 if claim == "above" else -1.0

        def passes(factor: float) -> bool:
            shift = way * drift * self.error * math.sqrt(max(0.0, 1 - 1 / factor))
            if self.bounded is not None:
                return self.bounded.p(claim, margin, times=factor, shift=shift) < now
            distance = way * (self.estimate + shift - margin)
            return (
                distance > 0
                and float(upper_tail(distance * math.sqrt(factor) / max(self.error, 1e-300), math.inf)) < now
            )

        least = max(1.0, FEWEST_CLUSTERS / max(1, self.clusters))
        most = max(least, MOST / self.n)
        if not passes(most):
            return math.inf
        low, high = math.log(least), math.log(most)
        if passes(least):
            return least * self.n
        while high - low > 0.02:
            middle = (low + high) / 2
            low, high = (low, middle) if passes(math.exp(middle)) else (middle, high)
        return self.n * math.exp(high)


def share_bounds(best: Floats, share: float) -> tuple[float, float]:
    """Return the bounds of ours - share x best: ours finds nothing, or all, where the best finds most."""
    finite = np.abs(best[np.isfinite(best)])
    most = float(finite.max(initial=0.0))
    return min(0.0, -share * most), max(0.0, (1 - share) * most)


def _sums(values: Floats, clusters: ArrayLike) -> ClusterSums:
    return ClusterSums.of(values, np.asarray(clusters, np.str_))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Test:
    """Comparison before the number of others is known. subject: the method or head that it is about.

    times: how often its p counts, where one of several comparisons is enough for the claim (Bonferroni).
    """

    __test__ = False

    name: Text
    claim: Literal["above", "below"]
    margin: float
    mean: Mean
    where: Mapping[str, Json] = field(default_factory=dict)
    subject: str = ""
    times: float = 1.0

    @property
    def p(self) -> float:
        return self.mean.p(self.claim, self.margin)

    @property
    def passes(self) -> bool:
        return self.p < LEVEL

    def decides_at(self, level: float = LEVEL, drift: float = 0.0) -> float:
        """Examples of its kind at which it passes (see `Mean.decides_at`)."""
        return self.mean.decides_at(self.claim, self.margin, level / self.times, drift)

    def contrast(self, level: float) -> Contrast:
        """level: the one-sided level, over all looks, at which the claim that it belongs to is decided.

        The interval is the one that decides: the claim passes if, and only if, it leaves the margin outside.
        """
        own_level = level_now(level / self.times, self.mean.fractions_of(self.claim, self.margin))
        low, high = self.mean.interval(1 - 2 * own_level)
        return Contrast(
            name=self.name,
            claim=self.claim,
            margin=self.margin,
            estimate=self.mean.estimate,
            low=low,
            high=high,
            level=1 - 2 * own_level,
            n=self.mean.n,
            clusters=self.mean.clusters,
            p=self.p,
            corrected=min(1.0, self.p * self.times * LEVEL / level),
            where=dict(self.where),
            subject=self.subject,
        )


def all_of(tests: Sequence[Test]) -> float:
    """The p of a claim that needs all of its tests: the largest (intersection-union)."""
    return max((min(1.0, t.times * t.p) for t in tests), default=1.0)


def any_of(tests: Sequence[Test]) -> Test:
    """The surest of tests any of which makes the claim, counted for all of them (Bonferroni)."""
    return replace(min(tests, key=lambda t: t.p), times=len(tests))


@dataclass(frozen=True, slots=True)
class Needed:
    """Examples in all that would decide an open question: the likely number, and the range that holds it mostly.

    None: no reasonable number would.
    """

    likely: int | None
    low: int | None
    high: int | None


def examples_for(tests: Sequence[Test], level: float, share: float = 1.0) -> Needed:
    """Examples in all at which all of these tests pass at a level; share: the part of all that they are about."""

    def all_pass(drift: float) -> int | None:
        counts = [t.decides_at(level, drift) for t in tests]
        needed = max(counts, default=math.inf) / max(share, 1e-9)
        return int(math.ceil(needed / 10) * 10) if needed <= MOST else None

    return Needed(likely=all_pass(0.0), low=all_pass(SPREAD), high=all_pass(-SPREAD))
