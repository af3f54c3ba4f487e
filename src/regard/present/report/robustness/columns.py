"""Findings about robustness as columns that can be pooled: copies of one example are never counted as several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from regard.measures.intervals import Interval
from regard.measures.mean_interval import mean_interval
from regard.present import counts
from regard.present.messages.messages import say
from regard.present.report.markup import Html, small, tag
from regard.present.run_reader import Material
from regard.records import Floats, Json, Score

DRAWS = 500
UNKNOWN = Interval(float("nan"), float("nan"), float("nan"), 0.95)


class Measured(NamedTuple):
    """A mean with its interval, and the number of examples that have a value."""

    interval: Interval
    n: int

    @property
    def estimate(self) -> float:
        return self.interval.estimate


NOT_MEASURED = Measured(UNKNOWN, 0)


def picked(material: Material, metric: str, *, method: str | None = None, **where: Json) -> list[Score]:
    """The findings of one metric with these settings; a setting of None must not be there."""
    return [
        s
        for s in material.findings
        if s.metric == metric
        and (method is None or s.method == method)
        and all((k not in s.where) if v is None else s.where.get(k) == v for k, v in where.items())
    ]


def different(scores: Iterable[Score], key: str) -> list[Json]:
    """The values of a setting, in the order in which they occur."""
    return list(dict.fromkeys(s.where[key] for s in scores if key in s.where))


def noises(scores: Iterable[Score]) -> list[str]:
    return [str(n) for n in different(scores, "noise") if n != "none"]


def severities(scores: Iterable[Score]) -> list[int]:
    return sorted(int(s) for s in different(scores, "severity") if isinstance(s, int) and s > 0)


def of_mean(material: Material, scores: Sequence[Score]) -> Measured:
    """The mean over everything in these columns."""
    values = np.concatenate([s.values for s in scores]) if scores else np.zeros(0)
    ids = [name for s in scores for name in s.ids]
    clusters = [material.cluster(name) for name in ids]
    there = {name for name, v in zip(ids, values, strict=True) if not np.isnan(v)}
    kind = _kind({s.metric for s in scores})
    found = mean_interval(values, clusters, kind=kind, seed=seed(material), draws=DRAWS)
    return Measured(found, len(there))


def by_example(scores: Sequence[Score]) -> tuple[tuple[str, ...], Floats]:
    """(ids, values): the mean of several columns about the same examples, NaN where an example has none."""
    ids = tuple(dict.fromkeys(name for s in scores for name in s.ids))
    place = {name: i for i, name in enumerate(ids)}
    rows = np.full((len(scores), len(ids)), np.nan)
    for r, score in enumerate(scores):
        rows[r, [place[name] for name in score.ids]] = score.values
    there = ~np.isnan(rows).all(0) if len(scores) else np.zeros(0, np.bool_)
    out = np.full(len(ids), np.nan)
    if there.any():
        out[there] = np.nanmean(rows[:, there], axis=0)
    return ids, out


def mean_of(material: Material, scores: Sequence[Score]) -> Measured:
    """The mean over examples of what each has on average in these columns."""
    ids, values = by_example(scores)
    kind = _kind({s.metric for s in scores})
    clusters = [material.cluster(name) for name in ids]
    found = mean_interval(values, clusters, kind=kind, seed=seed(material), draws=DRAWS)
    return Measured(found, int((~np.isnan(values)).sum()))


def _kind(metrics: set[str]) -> Literal["auto", "amount"]:
    """Agreements and divergences are amounts, also where all are 1."""
    return "amount" if any(m.startswith("explanation_") for m in metrics) else "auto"


def seed(material: Material) -> int:
    return int(material.manifest.get("seed", 0))


def largest_n(cells: Iterable[Measured]) -> int:
    """The n that stands in the caption of a table of these."""
    return counts.largest(counts.alike(c.n for c in cells))[0]


def n_in_caption(cells: Iterable[Measured]) -> str:
    return counts.in_caption(counts.alike(c.n for c in cells))


def cell(found: Measured, usual: int | None = None, digits: int = 3) -> Html:
    """A number and its interval, for a table; with its n, where that is not the one of the caption."""
    interval = found.interval
    if np.isnan(interval.estimate):
        return tag("td", {"class": "n"}, say("unknown"))
    ends = (
        f"[{interval.low:.{digits}f}, {interval.high:.{digits}f}]" if np.isfinite(interval.low) else say("results.few")
    )
    own = "" if usual is None else counts.own((found.n, found.n), (usual, usual))
    return tag("td", {"class": "n"}, f"{interval.estimate:.{digits}f}", small(ends), small(own))


def in_words(found: Measured, usual: int | None = None, *, percent: bool = True) -> str:
    """
    >>> in_words(Measured(Interval(0.775, 0.672, 0.853, 0.95), 80))
    '78 % [67, 85]'
    >>> in_words(Measured(Interval(0.775, 0.672, 0.853, 0.95), 80), 90)
    '78 % [67, 85] (n = 80)'
    """
    interval, digits, scale = found.interval, 0 if percent else 2, 100 if percent else 1
    if np.isnan(interval.estimate):
        return say("unknown")
    shown = f"{scale * interval.estimate:.{digits}f}" + (" %" if percent else "")
    own = "" if usual is None else counts.own((found.n, found.n), (usual, usual))
    if not np.isfinite(interval.low):
        return f"{shown} ({say('results.few')}{say('listed') if own else ''}{own})"
    ends = f"[{scale * interval.low:.{digits}f}, {scale * interval.high:.{digits}f}]"
    return f"{shown} {ends}" + (f" ({own})" if own else "")
