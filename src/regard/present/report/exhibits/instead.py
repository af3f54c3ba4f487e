"""Read this instead: the method that is most faithful on these data, and its margin over attention."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from regard.measures.intervals import ClusterSums, Interval, bootstrap
from regard.present.results_table import Setting, setting
from regard.present.run_reader import Material
from regard.records import Floats, Score

ATTENTION = "attention"
REMOVED, KEPT = "comprehensiveness", "sufficiency"
"""What faithful means here, half each: what is lost without the units that a method puts first, and kept by them."""

QUESTION, OVER_RANDOM = "which explanation method deserves to be read?", " - random words"
"""Of the judge: its question, and how it calls the comparison that its answer rests on."""

Column = dict[str, float]
"""Example -> value."""


@dataclass(frozen=True, slots=True)
class Margin:
    """A method and attention on the same examples. gain: of what its units are worth, at Bonferroni's level.

    removed, kept: how far the prediction falls without the first units, and with them alone: (method, attention); None
    where the run has no such number. operators: those that the method does not use itself.
    """

    method: str
    gain: Interval
    n: int
    removed: tuple[float, float] | None
    kept: tuple[float, float] | None
    operators: tuple[str, ...]

    @property
    def better(self) -> bool:
        return bool(self.gain.low > 0)


@dataclass(frozen=True, slots=True)
class Instead:
    """best: the method that the verdict names; else the one with the largest gain, of those that were asked about at
    least half as many examples as any other. compared: how many there were.
    """

    best: Margin
    compared: int


def instead(material: Material) -> Instead | None:
    """None where there is no attention to compare with, or nothing to compare it by."""
    baselines = {s.method for s in material.summaries if s.role == "baseline"}
    others = [m for m in material.methods if m != ATTENTION and m not in baselines]
    found = [m for name in others if (m := _margin(material, name, 1 - 0.05 / len(others))) is not None]
    if not found:
        return None
    named = _named(material)
    asked = max(m.n for m in found)
    often = [m for m in found if m.method == named] or [m for m in found if 2 * m.n >= asked]
    return Instead(max(often, key=lambda m: (round(m.gain.estimate, 6), -others.index(m.method))), len(found))


def _named(material: Material) -> str | None:
    """What the verdict says should be read, where it says so."""
    for judgement in material.manifest.get("judgements") or ():
        for verdict in judgement["verdicts"]:
            if verdict["question"] == QUESTION and verdict["answer"] == "holds" and verdict["contrasts"]:
                return str(verdict["contrasts"][0]["name"]).removesuffix(OVER_RANDOM)
    return None


def _margin(material: Material, method: str, level: float) -> Margin | None:
    own, parts = material.own_operators.get(method), {}
    operators: dict[str, None] = {}
    for metric in (REMOVED, KEPT):
        scores = {(s.method, setting(s.where)): s for s in material.scores if s.metric == metric}
        places = _places(scores, method, own)
        if places:
            ours, theirs = (_mean_of([scores[name, place] for place in places]) for name in (method, ATTENTION))
            parts[metric] = ours, theirs
            operators.update(dict.fromkeys(str(dict(place).get("operator", "")) for place in places))
    both = (
        [i for i in next(iter(parts.values()))[0] if all(i in c for pair in parts.values() for c in pair)]
        if parts
        else []
    )
    if not both:
        return None
    turns = {REMOVED: 1.0, KEPT: -1.0}
    gain = [np.mean([turns[m] * (ours[i] - theirs[i]) for m, (ours, theirs) in parts.items()]) for i in both]
    sums = ClusterSums.of(gain, [material.cluster(i) for i in both])
    between = bootstrap(sums, seed=int(material.manifest.get("seed", 0)), level=level, draws=10_000)
    removed, kept = (_means(parts.get(metric), both) for metric in (REMOVED, KEPT))
    return Margin(method, between, sums.n, removed, kept, tuple(operators))


def _places(scores: Mapping[tuple[str, Setting], Score], method: str, own: str | None) -> list[Setting]:
    """The settings in which both were judged, none by the operator that the method uses itself."""
    return [
        place for name, place in scores
        if name == method and (ATTENTION, place) in scores and dict(place).get("operator") != own
    ]  # fmt: skip


def _means(pair: tuple[Column, Column] | None, both: list[str]) -> tuple[float, float] | None:
    if pair is None:
        return None
    ours, theirs = (float(np.mean([column[i] for i in both])) for column in pair)
    return ours, theirs


def _mean_of(scores: list[Score]) -> Column:
    """The mean over the operators; only where all of them have a value."""
    found: dict[str, list[float]] = {}
    for score in scores:
        for name, value in zip(score.ids, score.values, strict=True):
            if np.isfinite(value):
                found.setdefault(name, []).append(float(value))
    return {name: float(np.mean(values)) for name, values in found.items() if len(values) == len(scores)}


def best_method(material: Material) -> str | None:
    """The method whose numbers are shown where one has to be chosen: the most faithful, else attention, else any."""
    found = instead(material)
    if found is not None and found.best.gain.estimate > 0:
        return found.best.method
    return ATTENTION if ATTENTION in material.methods else next(iter(material.methods), None)


def by_units(values: Floats, special: list[bool]) -> Floats:
    """(units,) as parts of the whole magnitude, special units 0."""
    kept = np.where(np.asarray(special, np.bool_), 0.0, values)
    whole = float(np.abs(kept).sum())
    return kept / whole if whole > 0 else kept
