"""Is a mean above or below a margin? One-sided tests on per-example values, clustered, and never NaN."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from regard.judge.margins import LEVEL, POWER
from regard.measures.significance import t_quantile, upper_tail
from regard.records import Contrast, Floats, Json, Text

FEWEST_CLUSTERS = 10
"""Independent draws below which nothing is claimed."""
MOST = 100_000
"""More examples than this are no answer to "how many would decide it"."""


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of per-example values with its cluster-robust error.

    The variance is that of sums over clusters (patients, documents), with as many degrees of freedom as clusters minus
    one. An error of 0 (all examples alike) is certainty in the direction of the mean.
    """

    estimate: float
    error: float
    n: int
    clusters: int
    freedom: float | None = None
    """Degrees of freedom where they are not those of the clusters."""
    share: bool = False
    """The values are yes or no: no interval leaves 0..1."""

    @staticmethod
    def over_seeds(values: Floats, clusters: ArrayLike) -> Mean:
        """Of (example, seed) values: both the examples and the seeds are drawn, and both kinds of chance count.

        The two variances are added (which counts what they share twice), the degrees of freedom are Satterthwaite's.
        One seed alone is no sample of seeds: then the mean is about that one.
        """
        finite = np.isfinite(values)
        examples_with_data = finite.any(-1)
        rows = np.where(finite, values, 0.0).sum(-1)[examples_with_data] / finite.sum(-1)[examples_with_data]
        by_example = Mean.of(rows, np.asarray(clusters, np.str_)[examples_with_data])
        seeds_with_data = finite.any(0)
        by_seed = np.where(finite, values, 0.0).sum(0)[seeds_with_data] / np.maximum(finite.sum(0)[seeds_with_data], 1)
        count = len(by_seed)
        if count < 2 or by_example.clusters < 2:
            return by_example
        example_variance, seed_variance = by_example.error**2, float(by_seed.var(ddof=1)) / count
        share = example_variance**2 / (by_example.clusters - 1) + seed_variance**2 / (count - 1)
        freedom = (example_variance + seed_variance) ** 2 / share if share > 0 else None
        return Mean(
            by_example.estimate, math.sqrt(example_variance + seed_variance), by_example.n, by_example.clusters, freedom
        )

    @staticmethod
    def of(values: Floats, clusters: ArrayLike, *, share: bool = False) -> Mean:
        """NaN and infinity are no values.

        share: the values are yes or no; one of each is added, so that all alike is not certain.
        """
        finite = np.isfinite(values)
        v = values[finite]
        names = np.asarray(clusters, np.str_)[finite]
        if not len(v):
            return Mean(math.nan, math.nan, 0, 0)
        which = np.unique(names, return_inverse=True)[1]
        count = int(which.max()) + 1
        if share:
            v, which = np.append(v, [0.0, 1.0]), np.append(which, [count, count + 1])
        mean = float(v.mean())
        sums = np.bincount(which, weights=v - mean)
        groups = len(sums)
        variance = groups / max(1, groups - 1) * float((sums**2).sum()) / len(v) ** 2
        return Mean(mean, math.sqrt(variance), int(finite.sum()), count, share=share)

    def p(self, claim: Literal["above", "below"], margin: float) -> float:
        """Of a mean this far on the claimed side of the margin, if the truth were on the other side."""
        if self.clusters < FEWEST_CLUSTERS:
            return 1.0
        way = self.estimate - margin if claim == "above" else margin - self.estimate
        if self.error < 1e-12:
            return 0.0 if way > 1e-12 else 1.0
        return float(upper_tail(way / self.error, self._freedom))

    @property
    def _freedom(self) -> float:
        return self.clusters - 1 if self.freedom is None else self.freedom

    def interval(self, level: float) -> tuple[float, float]:
        """Two-sided; infinitely wide where there are too few draws."""
        if self.clusters < FEWEST_CLUSTERS:
            return (-math.inf, math.inf) if self.n else (math.nan, math.nan)
        half = t_quantile((1 - level) / 2, self._freedom) * self.error
        low, high = self.estimate - half, self.estimate + half
        return (max(0.0, low), min(1.0, high)) if self.share else (low, high)

    def decides_at(self, margin: float, tests: int) -> float:
        """Examples that would probably put the mean on its side of the margin, if it stays where it is."""
        way = abs(self.estimate - margin)
        if not self.n or math.isnan(way) or way == 0:
            return math.inf
        normal = NormalDist()
        reach = normal.inv_cdf(1 - LEVEL / max(1, tests)) + normal.inv_cdf(POWER)
        return max(self.n * (reach * self.error / way) ** 2, 3.0 * FEWEST_CLUSTERS)


@dataclass(frozen=True, slots=True)
class Test:
    """One comparison, before it is known how many others there are. subject: the method or head that it is about."""

    __test__ = False

    name: Text
    claim: Literal["above", "below"]
    margin: float
    mean: Mean
    where: Mapping[str, Json] = field(default_factory=dict)
    subject: str = ""

    @property
    def p(self) -> float:
        return self.mean.p(self.claim, self.margin)

    @property
    def passes(self) -> bool:
        return self.p < LEVEL

    def contrast(self, family: int, corrected: float) -> Contrast:
        level = 1 - 2 * LEVEL / max(1, family)
        low, high = self.mean.interval(level)
        return Contrast(
            name=self.name,
            claim=self.claim,
            margin=self.margin,
            estimate=self.mean.estimate,
            low=low,
            high=high,
            level=level,
            n=self.mean.n,
            clusters=self.mean.clusters,
            p=self.p,
            corrected=corrected,
            where=dict(self.where),
            subject=self.subject,
        )


def all_of(tests: Sequence[Test]) -> float:
    """The p of a claim that needs all of its tests: the largest (intersection-union)."""
    return max((t.p for t in tests), default=1.0)


def examples_for(tests: Sequence[Test], family: int, share: float = 1.0) -> int | None:
    """Examples in all that would probably decide these tests; None where no reasonable number would.

    share: the part of all examples that the tests are about.
    """
    needed = max((t.mean.decides_at(t.margin, family) for t in tests), default=math.inf) / max(share, 1e-9)
    return int(math.ceil(needed / 10) * 10) if needed <= MOST else None
