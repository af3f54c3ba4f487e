"""Means over findings about robustness: columns can be pooled, and copies of one example never count twice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from regard.audits.conclusions.run_facts import RunFacts
from regard.measures.intervals import Interval
from regard.measures.mean_interval import mean_interval
from regard.records import Floats, Json, Score


@dataclass(frozen=True, slots=True)
class Measured:
    """A mean with its interval, and the number of examples that have a value."""

    interval: Interval
    n: int

    @property
    def estimate(self) -> float:
        return self.interval.estimate


def alone(value: float) -> Interval:
    """Wrap a number that has no interval."""
    return Interval(value, float("nan"), float("nan"), 0.95)


NOT_MEASURED = Measured(alone(float("nan")), 0)


@dataclass(frozen=True, slots=True)
class NoiseLevels:
    """Numbers under noise. cells: by noise and severity, in their order; means: over all noises, by severity."""

    noises: tuple[str, ...]
    severities: tuple[int, ...]
    cells: tuple[tuple[Measured, ...], ...]
    means: tuple[Measured, ...]


def picked(findings: Iterable[Score], metric: str, *, method: str | None = None, **where: Json) -> list[Score]:
    """Return the findings of one metric with these settings; None requires the setting to be absent."""
    return [
        s
        for s in findings
        if s.metric == metric
        and (method is None or s.method == method)
        and all((k not in s.where) if v is None else s.where.get(k) == v for k, v in where.items())
    ]


def different(scores: Iterable[Score], key: str) -> list[Json]:
    """Distinct values of a setting, in order of occurrence."""
    return list(dict.fromkeys(s.where[key] for s in scores if key in s.where))


def noises(scores: Iterable[Score]) -> list[str]:
    return [str(n) for n in different(scores, "noise") if n != "none"]


def severities(scores: Iterable[Score]) -> list[int]:
    return sorted(int(s) for s in different(scores, "severity") if isinstance(s, int) and s > 0)


def of_mean(facts: RunFacts, scores: Sequence[Score]) -> Measured:
    """Return the mean over all values of these columns."""
    values = np.concatenate([s.values for s in scores]) if scores else np.zeros(0)
    ids = [name for s in scores for name in s.ids]
    defined = {name for name, v in zip(ids, values, strict=True) if not np.isnan(v)}
    return Measured(_interval(facts, scores, values, ids), len(defined))


def mean_of(facts: RunFacts, scores: Sequence[Score]) -> Measured:
    """Return the mean over examples of their averages over these columns."""
    ids, values = by_example(scores)
    return Measured(_interval(facts, scores, values, ids), int((~np.isnan(values)).sum()))


def _interval(facts: RunFacts, scores: Sequence[Score], values: Floats, ids: Sequence[str]) -> Interval:
    # agreements and divergences are amounts, also where all are 1
    amount = any(s.metric.startswith("explanation_") for s in scores)
    kind: Literal["auto", "amount"] = "amount" if amount else "auto"
    return mean_interval(values, facts.clusters(ids), kind=kind)


def by_example(scores: Sequence[Score]) -> tuple[tuple[str, ...], Floats]:
    """(ids, values): mean of several columns over the same examples, NaN if an example has none."""
    ids = tuple(dict.fromkeys(name for s in scores for name in s.ids))
    place = {name: i for i, name in enumerate(ids)}
    rows = np.full((len(scores), len(ids)), np.nan)
    for r, score in enumerate(scores):
        rows[r, [place[name] for name in score.ids]] = score.values
    defined = ~np.isnan(rows).all(0) if len(scores) else np.zeros(0, np.bool_)
    out = np.full(len(ids), np.nan)
    if defined.any():
        out[defined] = np.nanmean(rows[:, defined], axis=0)
    return ids, out


def noise_levels(facts: RunFacts, scores: Sequence[Score]) -> NoiseLevels:
    """Every noise at every severity, and the mean over noises."""
    names, grid = noises(scores), severities(scores)
    cells = tuple(
        tuple(
            of_mean(facts, [s for s in scores if s.where["noise"] == noise and s.where["severity"] == severity])
            for severity in grid
        )
        for noise in names
    )
    means = tuple(mean_of(facts, [s for s in scores if s.where["severity"] == severity]) for severity in grid)
    return NoiseLevels(tuple(names), tuple(grid), cells, means)
