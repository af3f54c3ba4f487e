"""Fold per-example scores into reportable numbers: mean, clustered interval, n, undefined, seed, role."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from regard.errors import UnknownName
from regard.measures.bounded_mean import Scale
from regard.measures.summarise import Role, role_of, summarise
from regard.records import Json, Score, Spec, Summary
from regard.registry import entry

SMALLEST_PART = 2
"""Minimum examples of a class or slice with a summary of its own: fewer cannot be resampled."""
MOST_PARTS = 100
"""Maximum distinct values of a slice column: one with more is a name or a number."""


def fold(
    scores: Sequence[Score],
    *,
    clusters: Mapping[str, str],
    classes: Mapping[str, str],
    slices: Sequence[Mapping[str, str]] = (),
    seed: int,
    level: float = 0.95,
    specs: Mapping[str, Spec] = MappingProxyType({}),
) -> list[Summary]:
    """Summarize every score over all examples, then per predicted class (`where={"class": name}`) and slice.

    clusters: example id -> what counts as one independent draw. classes: example id -> its predicted class.
    slices: for each column, example id -> "column=value"; a column with a single value makes no parts.
    specs: method -> its Spec, where its name does not say how it removes units.
    """
    summaries = [_summary(score, clusters, seed=seed, level=level, specs=specs) for score in scores]
    for kind, belonging in [("class", classes), *(("slice", column) for column in slices)]:
        names = sorted({belonging[name] for score in scores for name in score.ids if name in belonging})
        if not 2 <= len(names) <= MOST_PARTS:
            continue
        for score in scores:
            for name in names:
                inside = np.array([belonging.get(i) == name for i in score.ids], np.bool_)
                if inside.sum() >= SMALLEST_PART:
                    part = _only(score, inside, {kind: name})
                    summaries.append(_summary(part, clusters, seed=seed, level=level, specs=specs))
    return summaries


def _summary(
    score: Score, clusters: Mapping[str, str], *, seed: int, level: float, specs: Mapping[str, Spec]
) -> Summary:
    own = specs.get(score.method)
    names = [clusters[name] for name in score.ids]
    scale: Scale = "any" if _facts("metric", score.metric).get("amount") else "unknown"
    return summarise(score, names, seed=seed, level=level, role=role(score, own), scale=scale)


def role(score: Score, spec: Spec | None = None) -> Role:
    """Return the role of a method: the metric names its baseline and its ceiling, an explainer may be a baseline.

    Where units are removed, a method is the ceiling only if it found its relevance by the same operator. spec: that of
    the method.
    """
    explainer = _facts("explainer", Spec.parse("explainer", score.method).name)
    if explainer.get("role") == "baseline":
        return "baseline"
    facts = _facts("metric", score.metric)
    # the ceiling is one for the metric's usual comparison only
    return role_of(score.method, facts if _usual(score) and _same_operator(score, spec) else {**facts, "ceiling": ""})


def _same_operator(score: Score, spec: Spec | None) -> bool:
    own = (spec or Spec.parse("explainer", score.method)).params.get("operator")
    return "operator" not in score.where or score.where["operator"] == own


def _usual(score: Score) -> bool:
    """Return whether the metric uses its default comparison."""
    try:
        defaults = {p.name: p.default for p in entry("metric", score.metric).parameters}
    except UnknownName:
        return True
    return score.where.get("other", defaults.get("other")) == defaults.get("other")


def _facts(kind: str, name: str) -> Mapping[str, Json]:
    try:
        return entry(kind, name).facts
    except UnknownName:  # a score that was made elsewhere
        return {}


def _only(score: Score, inside: np.ndarray[tuple[int], np.dtype[np.bool_]], where: Mapping[str, Json]) -> Score:
    return replace(
        score,
        ids=tuple(name for name, yes in zip(score.ids, inside, strict=True) if yes),
        values=score.values[inside],
        curves={name: np.asarray(values)[inside] for name, values in score.curves.items()},
        where={**score.where, **where},
    )
