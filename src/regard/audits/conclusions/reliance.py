"""Reliance of the model: units by predicted class over the data set, and those that look like leaks or shortcuts."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.audits.conclusions.faithfulness import Faithfulness, by_units, most_faithful
from regard.audits.conclusions.function_words import is_function_word
from regard.audits.conclusions.run_facts import RunFacts
from regard.audits.conclusions.word_units import gathered
from regard.measures.bounded_mean import cluster_interval
from regard.measures.intervals import ClusterSums, Interval, wilson
from regard.measures.roc import roc_area

MOST = 4
"""Maximum units shown for a class."""
MOST_CLASSES = 4
MOST_SUSPECTS = 5
FEWEST = 5
"""Minimum independent draws with a unit before it is reported."""
MOST_RESAMPLED = 40
"""Maximum content words, and function words, that get an interval; only the strongest can be shown or suspected."""
FEWEST_FOR_LEAK = 8
LEAST_SHARE = 0.01
"""Minimum lower end of the interval of a suspect's share of the relevance: less cannot carry a prediction."""
NEARLY_ALWAYS = 0.8
"""Minimum lower end of the interval of the share of one label among the examples with a unit."""
SEPARATES = 0.98
"""Minimum ROC area of one column alone."""
ODD = (
    ("number", re.compile(r"[\W_]*\d[\d\W_]*")),
    ("id", re.compile(r"(?=.*\d)(?=.*[A-Za-z])[\w#./-]{4,}")),
    ("link", re.compile(r"(https?:|www\.|\S+@\S+\.).*", re.IGNORECASE)),
    ("markup", re.compile(r"</?\w+/?>|&\w+;|\[\w+\]|<\w+>")),
    ("punctuation", re.compile(r"[\W_]+")),
)
"""Forms that are rarely a reason; the first that matches the whole unit names it."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Unit and its relevance in one class.

    share: of all relevance in the predictions of the class, mean over examples (0 where the unit is absent). n:
    examples of this class with the unit.
    """

    name: str
    n: int
    share: Interval


@dataclass(frozen=True, slots=True)
class OfClass:
    """Reliance of one class. units: content words, columns or patches. function_words: "the", punctuation, ..."""

    name: str
    n: int
    units: tuple[Unit, ...]
    places: tuple[float, ...] | None = None
    function_words: tuple[Unit, ...] = ()


@dataclass(frozen=True, slots=True)
class Suspect:
    """Unit that looks like a leak or a shortcut.

    why: "label" (nearly always one label), "separates" (a column alone), or the form ("number", "id", ...). of, n:
    examples with that label, and all with the unit (or ROC area, and examples).
    """

    name: str
    why: str
    label: str
    of: float
    n: int
    low: float
    base: float
    share: Interval


@dataclass(frozen=True, slots=True)
class Reliance:
    method: str
    kind: str
    classes: tuple[OfClass, ...]
    suspects: tuple[Suspect, ...]
    labelled: bool
    left_out: int
    level: float = 0.95


def reliance(facts: RunFacts, compared: tuple[Faithfulness, ...]) -> Reliance | None:
    """Rank units by the most faithful method; None if no method left a number or the model predicts no classes."""
    method = most_faithful(facts, compared)
    if method is None:
        return None
    table = [row for e in facts.examples if (row := _row(facts, e, method)) is not None]
    names = [n for n in _labels(facts) if any(r["predicted"] == n for r in table)]
    if not table or not names:
        return None
    names.sort(key=lambda n: -sum(r["predicted"] == n for r in table))
    classes, shares = [], {}
    for name in names[:MOST_CLASSES]:
        own = [r for r in table if r["predicted"] == name]
        units = _units(own)
        shares.update({(name, u.name): u.share for u in units})
        # by what is sure, not by what is largest: a rare word with one large value comes late
        ranked = sorted(units, key=lambda u: (-round(u.share.low, 6), -round(u.share.estimate, 6), u.name))
        relied_on = [u for u in ranked if u.share.low > 0]
        minor = {u.name for u in relied_on if own[0]["span"] and is_function_word(u.name)}
        classes.append(
            OfClass(
                name=name,
                n=len(own),
                units=tuple(u for u in relied_on if u.name not in minor)[:MOST],
                places=_places(facts, own, method),
                function_words=tuple(u for u in relied_on if u.name in minor)[:MOST],
            )
        )
    kind = str(facts.examples[0]["units"]["kind"])
    kind = "word" if facts.examples[0]["units"]["place_kind"] == "span" else kind
    labelled = any(r["label"] is not None for r in table)
    suspects = _suspects(facts, table, shares)
    return Reliance(
        method=method,
        kind=kind,
        classes=tuple(classes),
        suspects=suspects,
        labelled=labelled,
        left_out=max(0, len(names) - MOST_CLASSES),
    )


def _labels(facts: RunFacts) -> list[str]:
    labels = [str(name) for name in facts.manifest["model"].get("labels") or []]
    predictions = {str(e["predicted"]) for e in facts.examples if isinstance(e.get("predicted"), str)}
    return labels or (sorted(predictions) if len(predictions) <= 12 else [])


def _row(facts: RunFacts, example: dict[str, Any], method: str) -> dict[str, Any] | None:
    values = facts.relevance_of(method, example["id"])
    if values is None:
        return None
    units, parts = example["units"], by_units(values, example["units"]["special"])
    if units["place_kind"] == "span":
        words, parts = gathered(example, parts)
        units = words["units"]
    shares: dict[str, float] = defaultdict(float)
    for name, part, special in zip(units["names"], parts, units["special"], strict=True):
        if not special and str(name).strip():
            shares[str(name).strip().casefold()] += float(part)
    label = example.get("label")
    return {
        "id": example["id"],
        "cluster": facts.cluster(example["id"]),
        "units": dict(shares),
        "predicted": facts.label(example["predicted"]),
        "label": None if label is None else facts.label(label),
        "row": example["inputs"].get("row"),
        "span": example["units"]["place_kind"] == "span",
    }


def _units(rows: Sequence[Mapping[str, Any]]) -> list[Unit]:
    """Return every unit that occurs in enough independent examples of one class, with its share of the relevance."""
    clusters_with: dict[str, set[str]] = defaultdict(set)
    count: dict[str, int] = defaultdict(int)
    for r in rows:
        for name in r["units"]:
            clusters_with[name].add(r["cluster"])
            count[name] += 1
    clusters = [r["cluster"] for r in rows]
    enough = [name for name, where in clusters_with.items() if len(where) >= FEWEST]
    totals = {name: sum(r["units"].get(name, 0.0) for r in rows) for name in enough}
    enough.sort(key=lambda name: (-totals[name], name))
    units = []
    for name in _strongest_of_each(enough):
        sums = ClusterSums.of([r["units"].get(name, 0.0) for r in rows], clusters)
        units.append(Unit(name, count[name], cluster_interval(sums)))
    return units


def _strongest_of_each(names: Sequence[str]) -> list[str]:
    """Strongest names of each kind, content words and function words, since an interval costs time."""
    content = [name for name in names if not is_function_word(name)]
    minor = [name for name in names if is_function_word(name)]
    return [*content[:MOST_RESAMPLED], *minor[:MOST_RESAMPLED]]


def _places(facts: RunFacts, rows: Sequence[Mapping[str, Any]], method: str) -> tuple[float, ...] | None:
    """Mean over examples at each position, if all examples share their positions (patches, steps)."""
    first = facts.by_id[rows[0]["id"]]["units"] if rows else None
    if first is None or first["place_kind"] not in ("box", "range"):
        return None
    same = [facts.by_id[r["id"]] for r in rows if facts.by_id[r["id"]]["units"]["names"] == first["names"]]
    if len(same) < len(rows):
        return None
    relevances = ((e["units"]["special"], facts.relevance_of(method, e["id"])) for e in same)
    values = [by_units(v, special) for special, v in relevances if v is not None]
    return tuple(np.mean(values, axis=0).tolist())


def _suspects(
    facts: RunFacts, table: Sequence[Mapping[str, Any]], shares: Mapping[tuple[str, str], Interval]
) -> tuple[Suspect, ...]:
    """Units with a share surely above `LEAST_SHARE` that predict a label: nearly alone, or in an odd form.

    None without labels.
    """
    labelled = [r for r in table if r["label"] is not None]
    # a placeholder has the form of an identifier and is none
    veiled = re.compile(r"(w[\d.?]+)+" if facts.manifest.get("veil") else r"(?!)")
    suspects: dict[str, Suspect] = {}
    for (_, unit), share in sorted(shares.items(), key=lambda pair: -pair[1].estimate):
        if not share.low > LEAST_SHARE or unit in suspects:
            continue
        suspect = _leak(labelled, unit, share) or (None if veiled.fullmatch(unit) else _odd(labelled, unit, share))
        if suspect is not None:
            suspects[unit] = suspect
    return tuple(sorted(suspects.values(), key=lambda s: -s.share.estimate)[:MOST_SUSPECTS])


@dataclass(frozen=True, slots=True)
class _Association:
    """Association of a unit with a label: `of` n clusters always have `label`; low: its bound; base: overall share."""

    label: str
    of: int
    n: int
    low: float
    base: float


def _association(labelled: Sequence[Mapping[str, Any]], unit: str) -> _Association | None:
    """Return the label that accompanies a unit; None if the data have one label, or if the unit never occurs."""
    here = [r for r in labelled if unit in r["units"]]
    labels = sorted({r["label"] for r in labelled})
    if len(labels) < 2 or not here:
        return None
    labels_of: dict[str, set[str]] = defaultdict(set)
    for r in here:
        labels_of[r["cluster"]].add(r["label"])
    # a patient with notes of both labels speaks for neither
    each = {name: sum(own == {name} for own in labels_of.values()) for name in labels}
    bases = {name: sum(r["label"] == name for r in labelled) / len(labelled) for name in labels}
    n = len(labels_of)
    lows = {name: float(wilson(each[name], n)[0]) for name in labels}
    label = max(labels, key=lambda name: lows[name] - bases[name])
    return _Association(label, each[label], n, lows[label], bases[label])


def _leak(labelled: Sequence[Mapping[str, Any]], unit: str, share: Interval) -> Suspect | None:
    if labelled and all(unit in r["units"] for r in labelled):
        return _separates(labelled, unit, sorted({r["label"] for r in labelled}), share)
    association = _association(labelled, unit)
    if association is None or association.n < FEWEST_FOR_LEAK or association.low < NEARLY_ALWAYS:
        return None
    return None if association.base > 1 - (1 - association.low) / 2 else _suspect(unit, "label", association, share)


def _suspect(unit: str, why: str, found: _Association, share: Interval) -> Suspect:
    return Suspect(
        name=unit,
        why=why,
        label=found.label,
        of=found.of,
        n=found.n,
        low=found.low,
        base=found.base,
        share=share,
    )


def _separates(
    labelled: Sequence[Mapping[str, Any]], unit: str, labels: Sequence[str], share: Interval
) -> Suspect | None:
    """Find a column whose value alone nearly determines the label."""
    if len(labels) != 2 or labelled[0]["row"] is None or np.ndim(labelled[0]["row"]) != 1:
        return None
    place = list(labelled[0]["units"]).index(unit)
    if any(len(r["row"]) != len(labelled[0]["row"]) or place >= len(r["row"]) for r in labelled):
        return None
    area = roc_area([float(r["row"][place]) for r in labelled], [r["label"] == labels[1] for r in labelled])
    area = max(area, 1 - area)
    if not area >= SEPARATES:
        return None
    n = len(labelled)
    return Suspect(name=unit, why="separates", label=labels[1], of=area, n=n, low=area, base=0.5, share=share)


def _odd(labelled: Sequence[Mapping[str, Any]], unit: str, share: Interval) -> Suspect | None:
    """Find a unit in a form that is rarely a reason, whose label is surely more frequent with it than without it."""
    why = next((what for what, form in ODD if form.fullmatch(unit)), None)
    if why is None or not labelled or not labelled[0]["span"]:  # the names of columns and patches are nobody's words
        return None
    association = _association(labelled, unit)
    return (
        _suspect(unit, why, association, share)
        if association is not None and association.low > association.base
        else None
    )
