"""Findings about robustness as columns that can be pooled: copies of one example are never counted as several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np

from regard.measures.intervals import Interval
from regard.measures.mean_interval import mean_interval
from regard.present.markup import Html, tag
from regard.present.run_reader import Material
from regard.present.saying import say
from regard.records import Floats, Json, Score

DRAWS = 500


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


def of_mean(material: Material, scores: Sequence[Score]) -> tuple[Interval, int]:
    """The mean over everything in these columns with its interval, and the number of examples that have a value."""
    values = np.concatenate([s.values for s in scores]) if scores else np.zeros(0)
    ids = [name for s in scores for name in s.ids]
    clusters = [material.cluster(name) for name in ids]
    there = {name for name, v in zip(ids, values, strict=True) if not np.isnan(v)}
    kind = _kind({s.metric for s in scores})
    return mean_interval(values, clusters, kind=kind, seed=seed(material), draws=DRAWS), len(there)


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


def mean_of(material: Material, scores: Sequence[Score]) -> Interval:
    """The mean over examples of what each has on average in these columns."""
    ids, values = by_example(scores)
    kind = _kind({s.metric for s in scores})
    return mean_interval(values, [material.cluster(n) for n in ids], kind=kind, seed=seed(material), draws=DRAWS)


def _kind(metrics: set[str]) -> Literal["auto", "amount"]:
    """Agreements and divergences are amounts, also where all are 1."""
    return "amount" if any(m.startswith("explanation_") for m in metrics) else "auto"


def seed(material: Material) -> int:
    return int(material.manifest.get("seed", 0))


def cell(found: Interval, digits: int = 3) -> Html:
    """A number and its interval, for a table."""
    if np.isnan(found.estimate):
        return tag("td", {"class": "n"}, say("unknown"))
    small = f"[{found.low:.{digits}f}, {found.high:.{digits}f}]" if np.isfinite(found.low) else say("results.few")
    return tag("td", {"class": "n"}, f"{found.estimate:.{digits}f}", tag("small", None, small))


def in_words(found: Interval, *, percent: bool = True) -> str:
    """
    >>> in_words(Interval(0.775, 0.672, 0.853, 0.95))
    '78 % [67, 85]'
    """
    if np.isnan(found.estimate):
        return say("unknown")
    if not np.isfinite(found.low):
        shown = f"{100 * found.estimate:.0f} %" if percent else f"{found.estimate:.2f}"
        return f"{shown} ({say('results.few')})"
    if not percent:
        return f"{found.estimate:.2f} [{found.low:.2f}, {found.high:.2f}]"
    return f"{100 * found.estimate:.0f} % [{100 * found.low:.0f}, {100 * found.high:.0f}]"
