"""The numbers of a run that gates can check: metrics, findings of experiments, and accuracy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

import numpy as np

from regard.errors import InputError, UnknownName, phrase
from regard.gate.policy import Gate
from regard.measures.calibration import ece_interval
from regard.measures.intervals import Interval
from regard.measures.mean_interval import mean_interval
from regard.records import Floats, Json, Score, Spec, Text
from regard.registry import entry, names
from regard.store.manifest import broken_model
from regard.store.run import Run

MODEL = "model"
"""Method name of numbers about predictions."""
UNASKED = ("noise", "attack")
"""Settings that change the input: a gate that does not name them uses the unmodified input."""
SILENT = frozenset(
    {
        "experiment",
        "role",
        "layers",
        "heads",
        "attention",
        "sites",
        "constraints",
        "noises",
        "severities",
        "attacks",
        "explainers",
        "share",
        "budget",
        "access",
        "samples",
        "noises_tried",
        "attacks_tried",
    }
)
ANY = "any"


@dataclass(frozen=True, slots=True)
class Series:
    """Values of one metric of one method in one setting, one per example."""

    metric: str
    method: str
    ids: tuple[str, ...]
    values: Floats
    better: str
    where: Mapping[str, Json]
    confidence: Floats | None = None
    """Confidences, if the number is a calibration error instead of a mean; `values` then hold the correctness."""

    def only(self, names: Iterable[str], **where: Json) -> Series:
        selected = set(names)
        inside = np.array([name in selected for name in self.ids], np.bool_)
        ids = tuple(name for name, yes in zip(self.ids, inside, strict=True) if yes)
        sure = None if self.confidence is None else self.confidence[inside]
        return replace(self, ids=ids, values=self.values[inside], where={**self.where, **where}, confidence=sure)


class RunNumbers:
    """A run as columns of numbers, each read once."""

    def __init__(self, run: Run) -> None:
        self.run = run

    @cached_property
    def examples(self) -> dict[str, dict[str, Any]]:
        """Examples that the model read, by id."""
        return {str(e["id"]): e for e in self.run.examples() if e["units"] is not None}

    @property
    def complete(self) -> bool:
        return str(self.run.manifest.get("status")) == "complete"

    @property
    def broken(self) -> Text:
        """The defect of the model that invalidates every number; "" if there is none."""
        return broken_model(self.run.manifest)

    @property
    def seed(self) -> int:
        return int(self.run.manifest.get("seed", 0))

    def cluster(self, name: str) -> str:
        """Return the independent draw that a name belongs to; non-examples (seeds) are their own."""
        return str(self.examples.get(name, {}).get("cluster") or name)

    @cached_property
    def series(self) -> dict[str, list[Series]]:
        """Metric -> its columns."""
        columns: dict[str, list[Series]] = {}
        for score in (*self._accuracy(), *self.run.scores(), *self.run.findings()):
            column = Series(
                metric=score.metric,
                method=score.method,
                ids=score.ids,
                values=score.values,
                better=score.better,
                where=dict(score.where),
            )
            columns.setdefault(score.metric, []).append(column)
        columns.pop("witness", None)  # examples to be looked at
        errors = [_calibrated(right, columns.get("confidence", ())) for right in columns.get("accuracy", ())]
        return {**columns, **({"ece": calibrated} if (calibrated := [e for e in errors if e is not None]) else {})}

    def _accuracy(self) -> list[Score]:
        labels = [str(name) for name in self.run.manifest.get("model", {}).get("labels") or []]
        labelled = {n: e for n, e in self.examples.items() if _class(e.get("label"), labels) in labels}
        if not labelled:
            return []
        right = [_class(e["label"], labels) == _class(e["predicted"], labels) for e in labelled.values()]
        where: dict[str, Json] = {"noise": "none", "severity": 0}
        return [
            Score(
                metric="accuracy",
                method=MODEL,
                ids=tuple(labelled),
                values=np.array(right, np.float64),
                better="higher",
                where=where,
            )
        ]

    def select(self, gate: Gate) -> list[Series]:
        """Return the columns that a gate selects; raise with near misses if there are none."""
        columns = self._of_metric(gate.metric)
        parts = {key: value for key, value in gate.where.items() if key in self.part_keys}
        for key in gate.where:
            settings = {k for c in columns for k in c.where} - {"role"} | set(self.part_keys)
            if key not in settings and key != "role":
                raise UnknownName(phrase("errors.gate.setting_metric", metric=gate.metric), key, settings)
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
                phrase("errors.gate.metric_metric", metric=repr(metric)),
                expected=phrase("errors.gate.one_that_this_run_stored"),
                got=phrase("errors.gate.one_that_did_not_compute"),
                remedy=phrase(
                    "errors.gate.regard_audit_metrics_or_one", metric=metric, series=", ".join(sorted(self.series))
                ),
            )
        raise UnknownName(phrase("errors.gate.metric_this_run"), metric, self.series)

    def _kept(self, columns: list[Series], metric: str, key: str, value: Json) -> list[Series]:
        matching = [c for c in columns if key in c.where and matches(c.where[key], value)]
        if not matching:
            choices = sorted({str(c.where[key]) for c in columns if key in c.where})
            pattern = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            raise UnknownName(phrase("errors.common.of_key", key=key, subject=metric), pattern, choices)
        return matching

    def _methods(self, columns: list[Series], gate: Gate) -> list[Series]:
        if gate.method is not None:
            patterns: Json = list(gate.method) if isinstance(gate.method, tuple) else gate.method
            matching = [c for c in columns if matches(c.method, patterns)]
            if not matching:
                pattern = ", ".join(gate.method) if isinstance(gate.method, tuple) else gate.method
                raise self._no_method(gate.metric, pattern, columns)
            columns = matching
        if "role" in gate.where:
            return columns
        # baselines and ceilings are there to be compared with; nobody means them who does not name them
        matching = [c for c in columns if c.where.get("role", "method") == "method"] or columns
        return [c for c in matching if gate.method is not None or not is_baseline(c.method)] or matching

    def _no_method(self, metric: str, shown: str, columns: Sequence[Series]) -> InputError:
        skipped = self.run.skipped
        reason = skipped.get(f"{metric} of {shown}") or skipped.get(shown)
        if reason:
            return InputError(
                phrase("errors.common.of_key", key=metric, subject=shown),
                expected=phrase("errors.gate.method_that_measured"),
                got=phrase("errors.gate.skipped_reason", reason=reason),
            )
        return UnknownName(phrase("errors.gate.method_metric", metric=metric), shown, {c.method for c in columns})

    @cached_property
    def part_keys(self) -> dict[str, dict[str, str]]:
        """Class, label and every slice column -> example id -> value."""
        labels = [str(name) for name in self.run.manifest.get("model", {}).get("labels") or []]
        keys = {
            "class": {n: str(e["predicted"]) for n, e in self.examples.items() if e["predicted"] is not None},
            "label": {n: _class(e["label"], labels) for n, e in self.examples.items() if e["label"] is not None},
        }
        for name, example in self.examples.items():
            for column, value in (example.get("slices") or {}).items():
                keys.setdefault(str(column), {})[name] = str(value)
        return keys

    def _parted(self, column: Series, parts: Mapping[str, Json]) -> list[Series]:
        columns = [column]
        for key, pattern in parts.items():
            belonging = self.part_keys[key]
            values = sorted({belonging[name] for name in column.ids if name in belonging})
            selected = [v for v in values if matches(v, pattern)]
            if not selected:
                raise UnknownName(phrase("errors.common.of_key", key=key, subject=column.metric), str(pattern), values)
            columns = [
                part.only((n for n in part.ids if belonging.get(n) == v), **{key: v})
                for part in columns
                for v in selected
            ]
        return columns

    def interval(self, column: Series, level: float) -> tuple[Interval, int, int]:
        """Return the mean with its interval, n and the number of independent draws."""
        clusters = [self.cluster(name) for name in column.ids]
        draws = [c for c, v in zip(clusters, column.values, strict=True) if not np.isnan(v)]
        if column.confidence is not None:
            interval = ece_interval(column.confidence, column.values, clusters, level=level, seed=self.seed)
        else:
            interval = mean_interval(column.values, clusters, level=level)
        return interval, len(draws), len(set(draws))


def _calibrated(right: Series, confidences: Sequence[Series]) -> Series | None:
    """Return the calibration error column of these answers, if confidences are stored."""
    about = {key: right.where.get(key) for key in ("noise", "severity", "attack")}
    for sure in confidences:
        if {key: sure.where.get(key) for key in about} == about:
            confidence = dict(zip(sure.ids, sure.values, strict=True))
            values = np.array([confidence.get(name, np.nan) for name in right.ids])
            where = {k: v for k, v in right.where.items() if k in about}
            return Series(
                metric="ece",
                method=right.method,
                ids=right.ids,
                values=right.values,
                better="lower",
                where=where,
                confidence=values,
            )
    return None


def _plain(column: Series, *keys: str) -> bool:
    """Return whether the column is about unmodified inputs."""
    return all(column.where.get(key, "none") == "none" for key in keys)


def matches(value: Json, wanted: Json) -> bool:
    """Return whether a stored setting matches a policy's pattern.

    >>> matches("keyboard", "key*"), matches(3, [2, 3]), matches(3, 2), matches("mask", "any")
    (True, True, False, True)
    """
    if isinstance(wanted, list):
        return value == wanted or any(matches(value, one) for one in wanted)
    if isinstance(wanted, str):
        return wanted == ANY or fnmatchcase(str(value), wanted)
    return value == wanted


def setting(column: Series, among: Sequence[Series], asked: Iterable[str]) -> str:
    """Describe the settings that distinguish a column from the others of its metric."""
    parts = []
    for key, value in column.where.items():
        varies = len({str(c.where.get(key)) for c in among}) > 1
        if key in asked or (varies and key not in SILENT):
            parts.append(f"{key} {value}")
    return ", ".join(parts)


def _class(value: Any, labels: Sequence[str]) -> str:
    """Return the name of a class given by name or number."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(labels):
        return labels[value]
    return str(value)


def is_baseline(method: str) -> bool:
    try:
        return entry("explainer", Spec.parse("explainer", method).name).facts.get("role") == "baseline"
    except InputError:  # not an explainer: a finding about "attention" or the model itself
        return False
