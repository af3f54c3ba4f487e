"""Comparison with a baseline run on the same examples: metric differences and explanation drift."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np

from regard.errors import InputError, UnknownName, phrase
from regard.gate.policy import Drift
from regard.gate.run_numbers import RunNumbers, Series, is_baseline, matches
from regard.measures import agreement
from regard.measures.intervals import Interval
from regard.measures.mean_interval import mean_interval
from regard.measures.paired import paired_difference
from regard.records import Floats, Json

_MEASURES: Mapping[str, Callable[..., Floats]] = {
    "kendall": agreement.kendall,
    "spearman": agreement.spearman,
    "weighted_kendall": agreement.weighted_kendall,
    "top_k": agreement.top_k_overlap,
    "rbo": agreement.rbo,
}


@dataclass(frozen=True, slots=True)
class DriftResult:
    """Agreement of one method's explanations in two runs, one value per compared example.

    other_units: number of examples that the two models split into different units.
    """

    method: str
    ids: tuple[str, ...]
    values: Floats
    other_units: int


class BaselineComparison:
    """A run and its baseline; examples with the same id must be identical."""

    def __init__(self, new: RunNumbers, old: RunNumbers) -> None:
        self.new, self.old = new, old

    @cached_property
    def shared(self) -> tuple[str, ...]:
        """Ids of the examples in both runs; raises if an id names two different examples."""
        both = [name for name in self.new.examples if name in self.old.examples]
        other = [name for name in both if self.new.examples[name]["inputs"] != self.old.examples[name]["inputs"]]
        if other:
            raise InputError(
                phrase("errors.gate.baseline_run", run=self.old.run.path),
                expected=phrase("errors.gate.same_examples_under_same_names"),
                got=phrase("errors.gate.that_differ_otherwise", n=len(other), n_2=len(both), other=other[0]),
                remedy=phrase("errors.gate.baseline_on_same_data"),
            )
        if not both:
            raise InputError(
                phrase("errors.gate.baseline_run", run=self.old.run.path),
                expected=phrase("errors.gate.same_examples"),
                got=phrase("errors.gate.no_example_in_common"),
                remedy=phrase("errors.gate.baseline_on_same_data_and_seed"),
            )
        return tuple(both)

    @cached_property
    def unchanged(self) -> dict[str, bool]:
        """Map each shared example to whether its prediction is unchanged."""
        new, old = self.new.examples, self.old.examples
        return {name: _same_prediction(new[name], old[name]) for name in self.shared}

    def difference(self, column: Series, level: float) -> tuple[Interval, float, int, int]:
        """Return new minus old, p of "no difference", n, and the number of independent draws."""
        if column.confidence is not None:
            raise InputError(
                phrase("errors.gate.against_baseline", metric=column.metric),
                expected=phrase("errors.gate.metric_with_value_per_example"),
                got=phrase("errors.gate.calibration_error"),
                remedy=phrase("errors.gate.brier_or_nll_with_drop"),
            )
        twin = self._twin(column)
        common = set(self.shared)
        before = dict(zip(twin.ids, twin.values, strict=True))
        ids = [name for name in column.ids if name in before and (name in common or name not in self.new.examples)]
        now = dict(zip(column.ids, column.values, strict=True))
        x, y = (np.array([side[name] for name in ids], np.float64) for side in (now, before))
        clusters = [self.new.cluster(name) for name in ids]
        draws = [c for c, a, b in zip(clusters, x, y, strict=True) if not math.isnan(a + b)]
        interval, p = paired_difference(x, y, clusters, level=level, seed=self.new.seed)
        return interval, p, len(draws), len(set(draws))

    def _twin(self, column: Series) -> Series:
        """Return the baseline's column of the same metric, method and setting."""
        parts = {key: column.where[key] for key in self.new.part_keys if key in column.where}
        setting = _without_words({k: v for k, v in column.where.items() if k not in parts})
        for other in self.old.series.get(column.metric, ()):
            if other.method == column.method and _without_words(other.where) == setting:
                return other
        title = phrase("errors.common.of_key", key=column.metric, subject=column.method)
        raise InputError(
            phrase("errors.gate.baseline_run", run=self.old.run.path),
            expected=phrase("errors.gate.in_same_setting", title=title),
            got=phrase("errors.gate.run_that_did_not_store"),
            remedy=phrase("errors.gate.baseline_by_same_profile"),
        )

    def drifted(self, drift: Drift) -> list[DriftResult]:
        """Return the drift of every method that the check selects."""
        both = [m for m in self.new.run.methods() if m in self.old.run.methods()]
        if drift.method is None:
            methods = [m for m in both if not is_baseline(m)]
        else:
            patterns = list(drift.method) if isinstance(drift.method, tuple) else drift.method
            methods = [m for m in both if matches(m, patterns)]  # type: ignore[arg-type]
        if not methods:
            pattern = ", ".join(drift.method) if isinstance(drift.method, tuple) else drift.method or "any"
            raise UnknownName(phrase("errors.gate.method_both_runs"), pattern, both)
        return [self._drift(method, drift) for method in methods]

    def _drift(self, method: str, drift: Drift) -> DriftResult:
        new, old = self.new.run.relevance(method), self.old.run.relevance(method)
        places = {name: i for i, name in enumerate(old.ids)}
        ids, xs, ys, other = [], [], [], 0
        for i, name in enumerate(new.ids):
            if name not in places or name not in self.unchanged or not (drift.all_examples or self.unchanged[name]):
                continue
            new_units, old_units = self.new.examples[name]["units"], self.old.examples[name]["units"]
            if new_units["names"] != old_units["names"] or new_units["special"] != old_units["special"]:
                other += 1
                continue
            free = ~np.asarray(new_units["special"], np.bool_)
            ids.append(name)
            xs.append(new[i][free])
            ys.append(old[places[name]][free])
        measure = _MEASURES[drift.measure]
        agree = partial(measure, k=drift.k) if drift.measure == "top_k" else measure
        return DriftResult(method, tuple(ids), agreement.ragged(agree, xs, ys), other)

    def interval(self, ids: tuple[str, ...], values: Floats, level: float, *, share: bool) -> tuple[Interval, int, int]:
        """Return the mean interval, n and draws. share: values are 0/1; agreements are amounts even if all are 1."""
        clusters = [self.new.cluster(name) for name in ids]
        draws = [c for c, v in zip(clusters, values, strict=True) if not math.isnan(v)]
        kind: Literal["auto", "amount"] = "auto" if share else "amount"
        interval = mean_interval(values, clusters, kind=kind, level=level)
        return interval, len(draws), len(set(draws))


def _without_words(where: Mapping[str, Json]) -> dict[str, Json]:
    """Return a setting without its descriptions, which older versions stored as English sentences."""
    return {name: value for name, value in where.items() if name not in ("attention", "constraints", "similarity")}


def _same_prediction(new: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
    """Return whether two runs predict the same. Older runs stored token ids instead of texts."""
    if isinstance(new["predicted"], str) == isinstance(old["predicted"], str):
        return bool(new["predicted"] == old["predicted"])
    return bool(new.get("target") == old.get("target"))
