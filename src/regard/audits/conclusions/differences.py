"""Is a method better than the random baseline on the same examples? Paired, with an interval over clusters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from regard.audits.conclusions.run_facts import RunFacts
from regard.audits.conclusions.settings import Setting, setting
from regard.measures.bounded_mean import cluster_interval
from regard.measures.intervals import ClusterSums
from regard.records import Score

Reading = Literal["better", "worse", "not told apart", "undefined"]


@dataclass(frozen=True, slots=True)
class Difference:
    """Difference of a method from its baseline, per example; `low` and `high` bound its interval at `level`.

    The level is Bonferroni-corrected over all differences of the run: the chance that any "better" or "worse" in a
    report is wrong is about 5 %.
    """

    metric: str
    setting: Setting
    method: str
    baseline: str
    estimate: float
    low: float
    high: float
    n: int
    better: str
    level: float = 0.95
    broken_model: bool = False
    """The model does not repeat its answers, so the difference says nothing about the method."""

    @property
    def reading(self) -> Reading:
        if self.broken_model or not (math.isfinite(self.low) and math.isfinite(self.high)) or self.better == "none":
            return "undefined"
        if self.low <= 0.0 <= self.high:
            return "not told apart"
        return "better" if (self.estimate > 0) == (self.better == "higher") else "worse"


def differences(facts: RunFacts) -> tuple[Difference, ...]:
    """Compare every method with the baseline of its metric and setting, on the examples that have values for both."""
    groups: dict[tuple[str, Setting], list[Score]] = {}
    for score in facts.scores:
        groups.setdefault((score.metric, setting(score.where)), []).append(score)
    pairs = []
    for (_, place), scores in groups.items():
        base = next((s for s in scores if s.method in facts.baselines), None)
        if base is not None:
            pairs += [(s, base, place) for s in scores if s.method not in facts.baselines]
    level = 1 - 0.05 / max(1, len(pairs))
    return tuple(_difference(score, base, place, facts, level) for score, base, place in pairs)


def _difference(score: Score, base: Score, place: Setting, facts: RunFacts, level: float) -> Difference:
    other = dict(zip(base.ids, base.values, strict=True))
    pairs = [(i, v - other[i]) for i, v in zip(score.ids, score.values, strict=True) if i in other]
    sums = ClusterSums.of(np.asarray([d for _, d in pairs]), facts.clusters(i for i, _ in pairs))
    between = cluster_interval(sums, level=level, scale="signed")
    return Difference(
        metric=score.metric,
        setting=place,
        method=score.method,
        baseline=base.method,
        estimate=between.estimate,
        low=between.low,
        high=between.high,
        n=sums.n,
        better=score.better,
        level=level,
        broken_model=bool(facts.broken),
    )
