"""The numbers of a run that a gate may be about: metrics, findings of experiments, and how often the model is right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

import numpy as np

from regard.errors import InputError, UnknownName
from regard.gate.policy import Gate
from regard.measures.calibration import ece_interval
from regard.measures.intervals import Interval
from regard.measures.mean_interval import mean_interval
from regard.records import Floats, Json, Score, Spec
from regard.registry import entry, names
from regard.store.manifest import broken_model
from regard.store.run import Run

MODEL = "model"
"""What numbers about the predictions are called after."""
UNASKED = ("noise", "attack")
"""Settings that change the input: a gate that does not name them is about the input as it is."""
SILENT = frozenset(
    {"experiment", "role", "layers", "heads", "attention", "sites", "constraints", "noises", "severities", "attacks",
     "explainers", "share", "budget", "access", "samples", "noises_tried", "attacks_tried"}
)  # fmt: skip
ANY = "any"


@dataclass(frozen=True, slots=True)
class Series:
    """One metric of one method in one setting: a value per example."""

    metric: str
    method: str
    ids: tuple[str, ...]
    values: Floats
    better: str
    where: Mapping[str, Json]
    confidence: Floats | None = None
    """Where the number is no mean but a calibration error: of how sure the model was, while `values` say how right."""

    def only(self, names: Iterable[str], **where: Json) -> Series:
        wanted = set(names)
        inside = np.array([name in wanted for name in self.ids], np.bool_)
        ids = tuple(name for name, yes in zip(self.ids, inside, strict=True) if yes)
        sure = None if self.confidence is None else self.confidence[inside]
        return replace(self, ids=ids, values=self.values[inside], where={**self.where, **where}, confidence=sure)


class Stored:
    """A run as columns of numbers, each read once."""

    def __init__(self, run: Run) -> None:
        self.run = run

    @cached_property
    def examples(self) -> dict[str, dict[str, Any]]:
        """By id, those that the model was asked about."""
        return {str(e["id"]): e for e in self.run.examples() if e["units"] is not None}

    @property
    def complete(self) -> bool:
        return str(self.run.manifest.get("status")) == "complete"

    @property
    def broken(self) -> str:
        """What is wrong with the model, so that no number passes; "" for a sound one."""
        return broken_model(self.run.manifest)

    @property
    def seed(self) -> int:
        return int(self.run.manifest.get("seed", 0))

    def cluster(self, name: str) -> str:
        """What counts as one independent draw; what is no example (a seed) stands for itself."""
        return str(self.examples.get(name, {}).get("cluster") or name)

    @cached_property
    def series(self) -> dict[str, list[Series]]:
        """Metric -> its columns."""
        found: dict[str, list[Series]] = {}
        for score in (*self._accuracy(), *self.run.scores(), *self.run.findings()):
            column = Series(score.metric, score.method, score.ids, score.values, score.better, dict(score.where))
            found.setdefault(score.metric, []).append(column)
        found.pop("witness", None)  # examples to be looked at
        errors = [_calibrated(right, found.get("confidence", ())) for right in found.get("accuracy", ())]
        return {**found, **({"ece": known} if (known := [e for e in errors if e is not None]) else {})}

    def _accuracy(self) -> list[Score]:
        labels = [str(name) for name in self.run.manifest.get("model", {}).get("labels") or []]
        told = {n: e for n, e in self.examples.items() if _class(e.get("label"), labels) in labels}
        if not told:
            return []
        right = [_class(e["label"], labels) == _class(e["predicted"], labels) for e in told.values()]
        where: dict[str, Json] = {"noise": "none", "severity": 0}
        return [Score("accuracy", MODEL, tuple(told), np.array(right, np.float64), "higher", where)]

    def select(self, gate: Gate) -> list[Series]:
        """Every column that a gate is about; at least one, or an error with near misses."""
        columns = self._of_metric(gate.metric)
        parts = {key: value for key, value in gate.where.items() if key in self.part_keys}
        for key in gate.where:
            settings = {k for c in columns for k in c.where} - {"role"} | set(self.part_keys)
            if key not in settings and key != "role":
                raise UnknownName(f"setting of {gate.metric}", key, settings)
        for key, value in gate.where.items():
            if key not in parts:
                columns = self._kept(columns, gate.metric, key, value)
        if not any(key in gate.where for key in UNASKED):
            columns = [c for c in columns if _plain(c, *UNASKED)] or columns
        if "attack" not in gate.where:
            columns = [c for c in columns if _plain(c, "attack")] or columns
        columns = self._methods(columns, gate)
        return [part for column in columns for part in self._parted(column, parts)]

    def _of_metric(self, metric: str) -> list[Series]:
        if metric in self.series:
            return self.series[metric]
        if metric in names("metric"):
            raise InputError(
                f"metric {metric!r}", expected="one that this run has stored", got="one that it did not compute",
                remedy=f"regard audit ... --metrics {metric}, or one of {', '.join(sorted(self.series))}",
            )  # fmt: skip
        raise UnknownName("metric of this run", metric, self.series)

    def _kept(self, columns: list[Series], metric: str, key: str, value: Json) -> list[Series]:
        kept = [c for c in columns if key in c.where and matches(c.where[key], value)]
        if not kept:
            seen = sorted({str(c.where[key]) for c in columns if key in c.where})
            shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            raise UnknownName(f"{key} of {metric}", shown, seen)
        return kept

    def _methods(self, columns: list[Series], gate: Gate) -> list[Series]:
        if gate.method is not None:
            wanted: Json = list(gate.method) if isinstance(gate.method, tuple) else gate.method
            kept = [c for c in columns if matches(c.method, wanted)]
            if not kept:
                shown = ", ".join(gate.method) if isinstance(gate.method, tuple) else gate.method
                raise self._no_method(gate.metric, shown, columns)
            columns = kept
        if "role" in gate.where:
            return columns
        # baselines and ceilings are there to be compared with; nobody means them who does not name them
        kept = [c for c in columns if c.where.get("role", "method") == "method"] or columns
        return [c for c in kept if gate.method is not None or not is_baseline(c.method)] or kept

    def _no_method(self, metric: str, shown: str, columns: Sequence[Series]) -> InputError:
        skipped = self.run.skipped
        reason = skipped.get(f"{metric} of {shown}") or skipped.get(shown)
        if reason:
            return InputError(f"{metric} of {shown}", expected="a method that was measured", got=f"skipped: {reason}")
        return UnknownName(f"method of {metric}", shown, {c.method for c in columns})

    @cached_property
    def part_keys(self) -> dict[str, dict[str, str]]:
        """Class, label and every slice column -> example id -> value."""
        labels = [str(name) for name in self.run.manifest.get("model", {}).get("labels") or []]
        found = {
            "class": {n: str(e["predicted"]) for n, e in self.examples.items() if e["predicted"] is not None},
            "label": {n: _class(e["label"], labels) for n, e in self.examples.items() if e["label"] is not None},
        }
        for name, example in self.examples.items():
            for column, value in (example.get("slices") or {}).items():
                found.setdefault(str(column), {})[name] = str(value)
        return found

    def _parted(self, column: Series, parts: Mapping[str, Json]) -> list[Series]:
        found = [column]
        for key, wanted in parts.items():
            belonging = self.part_keys[key]
            values = sorted({belonging[name] for name in column.ids if name in belonging})
            chosen = [v for v in values if matches(v, wanted)]
            if not chosen:
                raise UnknownName(f"{key} of {column.metric}", str(wanted), values)
            found = [
                part.only((n for n in part.ids if belonging.get(n) == v), **{key: v}) for part in found for v in chosen
            ]
        return found

    def interval(self, column: Series, level: float) -> tuple[Interval, int, int]:
        """The mean with its interval, n and the number of independent draws."""
        clusters = [self.cluster(name) for name in column.ids]
        there = [c for c, v in zip(clusters, column.values, strict=True) if not np.isnan(v)]
        if column.confidence is not None:
            found = ece_interval(column.confidence, column.values, clusters, level=level, seed=self.seed)
        else:
            found = mean_interval(column.values, clusters, level=level, seed=self.seed)
        return found, len(there), len(set(there))


def _calibrated(right: Series, confidences: Sequence[Series]) -> Series | None:
    """The calibration error of the same answers, where it is known how sure the model was."""
    about = {key: right.where.get(key) for key in ("noise", "severity", "attack")}
    for sure in confidences:
        if {key: sure.where.get(key) for key in about} == about:
            known = dict(zip(sure.ids, sure.values, strict=True))
            values = np.array([known.get(name, np.nan) for name in right.ids])
            where = {k: v for k, v in right.where.items() if k in about}
            return Series("ece", right.method, right.ids, right.values, "lower", where, values)
    return None


def _plain(column: Series, *keys: str) -> bool:
    """Whether the input was left as it is in these respects."""
    return all(column.where.get(key, "none") == "none" for key in keys)


def matches(value: Json, wanted: Json) -> bool:
    """Whether a stored setting is what a policy asks for.

    >>> matches("keyboard", "key*"), matches(3, [2, 3]), matches(3, 2), matches("mask", "any")
    (True, True, False, True)
    """
    if isinstance(wanted, list):
        return value == wanted or any(matches(value, one) for one in wanted)
    if isinstance(wanted, str):
        return wanted == ANY or fnmatchcase(str(value), wanted)
    return value == wanted


def setting(column: Series, among: Sequence[Series], asked: Iterable[str]) -> str:
    """What tells a column from the others of its metric, in words."""
    shown = []
    for key, value in column.where.items():
        varies = len({str(c.where.get(key)) for c in among}) > 1
        if key in asked or (varies and key not in SILENT):
            shown.append(f"{key} {value}")
    return ", ".join(shown)


def _class(value: Any, labels: Sequence[str]) -> str:
    """The name of a class, where the value is the number of one."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(labels):
        return labels[value]
    return str(value)


def is_baseline(method: str) -> bool:
    try:
        return entry("explainer", Spec.parse("explainer", method).name).facts.get("role") == "baseline"
    except InputError:  # not an explainer: a finding about "attention" or the model itself
        return False
