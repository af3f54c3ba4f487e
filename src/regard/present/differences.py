"""Is a method better than the random baseline on the same examples? Paired, with an interval over clusters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from regard.measures.intervals import ClusterSums, bootstrap
from regard.present.evidence import Setting, setting
from regard.present.run_reader import Material
from regard.records import Score

Reading = Literal["better", "worse", "not told apart", "undefined"]


@dataclass(frozen=True, slots=True)
class Difference:
    """method minus baseline, per example; `low` and `high` are the ends of its 95 % interval."""

    metric: str
    setting: Setting
    method: str
    baseline: str
    estimate: float
    low: float
    high: float
    n: int
    better: str

    @property
    def reading(self) -> Reading:
        if not (math.isfinite(self.low) and math.isfinite(self.high)) or self.better == "none":
            return "undefined"
        if self.low <= 0.0 <= self.high:
            return "not told apart"
        return "better" if (self.estimate > 0) == (self.better == "higher") else "worse"


def differences(material: Material) -> list[Difference]:
    """Every method against the baseline of its metric and setting, where both have values for the same examples."""
    baselines = {s.method for s in material.summaries if s.role == "baseline"}
    groups: dict[tuple[str, Setting], list[Score]] = {}
    for score in material.scores:
        groups.setdefault((score.metric, setting(score.where)), []).append(score)
    found = []
    for (_, place), scores in groups.items():
        base = next((s for s in scores if s.method in baselines), None)
        if base is not None:
            found += [_difference(s, base, place, material) for s in scores if s.method not in baselines]
    return found


def _difference(score: Score, base: Score, place: Setting, material: Material) -> Difference:
    other = dict(zip(base.ids, base.values, strict=True))
    pairs = [(i, v - other[i]) for i, v in zip(score.ids, score.values, strict=True) if i in other]
    sums = ClusterSums.of(np.asarray([d for _, d in pairs]), [material.cluster(i) for i, _ in pairs])
    between = bootstrap(sums, seed=int(material.manifest.get("seed", 0)))
    return Difference(
        score.metric,
        place,
        score.method,
        base.method,
        between.estimate,
        between.low,
        between.high,
        sums.n,
        score.better,
    )
