"""Summary numbers of per-example values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from regard.measures.bounded_mean import Scale, cluster_interval
from regard.measures.intervals import ClusterSums
from regard.records import Json, Score, Spec, Summary

Role = Literal["method", "baseline", "ceiling", "null"]


def summarise(
    score: Score,
    clusters: Sequence[str],
    *,
    seed: int,
    level: float = 0.95,
    role: Role = "method",
    scale: Scale = "any",
) -> Summary:
    """Mean over the defined examples, with an interval over clusters (`Example.cluster`, one per example).

    scale: of the values (see `BoundedMean.of`); metrics may be differences of probabilities, findings are amounts.

    A curve with a single point per example (the null spread of an agreement, the number of units) is not a curve
    but a column: its mean goes into `where`, beside the setting.
    """
    sums = ClusterSums.of(score.values, clusters)
    interval = cluster_interval(sums, level=level, scale=scale)
    where = dict(score.where)
    for name, column in score.curves.items():
        if np.shape(column) == (len(score.ids), 1) and np.isfinite(column).any():
            where[name] = float(column[np.isfinite(column)].mean())
    return Summary(
        metric=score.metric,
        method=score.method,
        estimate=interval.estimate,
        low=interval.low,
        high=interval.high,
        n=sums.n,
        clusters=len(sums.names),
        undefined=sums.undefined,
        seed=seed,
        level=level,
        better=score.better,
        role=role,
        where=where,
    )


def role_of(method: str, facts: Mapping[str, Json]) -> Role:
    """Role of a method for a metric, from the metric's facts (baseline="random", ceiling=...).

    >>> facts = {"baseline": "random", "ceiling": "input_x_gradient"}
    >>> [role_of(m, facts) for m in ("random:draw=3", "input_x_gradient", "attention")]
    ['baseline', 'ceiling', 'method']
    """
    name = Spec.parse("explainer", method).name
    if name == facts.get("baseline"):
        return "baseline"
    return "ceiling" if name == facts.get("ceiling") else "method"
