"""Curves over examples as a mean with a band: bootstrapped at every point, whole clusters resampled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.audits.conclusions.run_facts import RunFacts
from regard.audits.conclusions.settings import setting
from regard.measures.bounded_mean import cluster_interval
from regard.measures.intervals import ClusterSums
from regard.records import Floats, Score

"""Resamples per point of a curve; few, because nobody reads a band off to three digits."""


@dataclass(frozen=True, slots=True)
class Band:
    """Mean curve with low and high at every point. n: examples, clusters: independent draws among them.

    own: the method is judged by the same operator that it uses itself.
    """

    name: str
    estimate: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    n: tuple[int, ...]
    clusters: tuple[int, ...]
    own: bool = False


@dataclass(frozen=True, slots=True)
class RemovalCurves:
    """Curves of one metric in one setting: a band per method over the grid. curve: the name of the quantity."""

    metric: str
    setting: str
    curve: str
    grid: tuple[float, ...]
    bands: tuple[Band, ...]


@dataclass(frozen=True, slots=True)
class PointingCurves:
    """The prediction without the first 0, 1, 2, ... units of each ranking, by one operator."""

    operator: str
    grid: tuple[float, ...]
    bands: tuple[Band, ...]


@dataclass(frozen=True, slots=True)
class DistanceCurve:
    """Distance of the most distant attention, as a function of the permitted change of the prediction."""

    grid: tuple[float, ...]
    band: Band


def band(facts: RunFacts, name: str, curves: Floats, ids: Sequence[str], *, own: bool = False) -> Band:
    """Mean of (examples, points) with an interval at every point."""
    clusters = facts.clusters(ids)
    sums = [ClusterSums.of(curves[:, point], clusters) for point in range(curves.shape[1])]
    ends = [cluster_interval(s) for s in sums]
    return Band(
        name=name,
        estimate=tuple(e.estimate for e in ends),
        low=tuple(e.low for e in ends),
        high=tuple(e.high for e in ends),
        n=tuple(s.n for s in sums),
        clusters=tuple(len(s.names) for s in sums),
        own=own,
    )


def removal_curves(facts: RunFacts) -> tuple[RemovalCurves, ...]:
    """Bands of every metric and setting that stored curves."""
    groups: dict[tuple[str, str, str], list[Score]] = {}
    for score in facts.scores:
        for name, values in score.curves.items():
            if len(score.grid) >= 2 and np.shape(values)[-1:] == (len(score.grid),):
                place = ", ".join(value for _, value in setting(score.where))
                groups.setdefault((score.metric, place, name), []).append(score)
    return tuple(
        RemovalCurves(
            metric=metric,
            setting=place,
            curve=name,
            grid=tuple(map(float, scores[0].grid)),
            bands=tuple(band(facts, s.method, np.asarray(s.curves[name], np.float64), s.ids) for s in scores),
        )
        for (metric, place, name), scores in groups.items()
    )


def pointing_curves(facts: RunFacts) -> tuple[PointingCurves, ...]:
    """Bands of every ranking, by operator; the random rankings are averaged."""
    scores = [s for s in facts.findings if s.metric == "pointing" and "removed" in s.curves]
    operators = dict.fromkeys(str(s.where["operator"]) for s in scores)
    return tuple(_pointing(facts, o, [s for s in scores if s.where["operator"] == o]) for o in operators)


def _pointing(facts: RunFacts, operator: str, scores: Sequence[Score]) -> PointingCurves:
    base = {e["id"]: float(e["probability"]) for e in facts.examples if e.get("probability") is not None}
    randoms = [s for s in scores if s.method.startswith("random")]
    rankings = [(s.method, s.ids, np.asarray(s.curves["removed"])) for s in scores if s not in randoms]
    if randoms:
        mean = np.mean([np.asarray(s.curves["removed"]) for s in randoms], axis=0)
        rankings.append(("random", randoms[0].ids, mean))
    bands = []
    for name, ids, removed in rankings:
        # the curve begins with the examples that it goes on with
        start = np.where(np.isnan(removed).all(1), np.nan, [base.get(i, np.nan) for i in ids])
        own = any(s.where.get("own") for s in scores if s.method == name)
        bands.append(band(facts, name, np.column_stack([start, removed]), ids, own=own))
    return PointingCurves(operator, (0.0, *map(float, scores[0].grid)), tuple(bands))


def distance_curve(facts: RunFacts) -> DistanceCurve | None:
    """Distance by permitted change; None if fewer than two limits were searched."""
    score = next((s for s in facts.findings if s.metric == "max_jsd" and "jsd" in s.curves), None)
    if score is None or len(score.grid) < 2:
        return None
    curves = np.asarray(score.curves["jsd"], np.float64)
    return DistanceCurve(tuple(map(float, score.grid)), band(facts, "", curves, score.ids))
