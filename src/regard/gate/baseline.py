"""This run against an earlier one, over the same examples: differences of metrics, and drift of explanations."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np

from regard.errors import InputError, UnknownName
from regard.gate.policy import Drift
from regard.gate.run_numbers import Series, Stored, is_baseline, matches
from regard.measures import agreement
from regard.measures.intervals import Interval
from regard.measures.mean_interval import mean_interval
from regard.measures.paired import paired_difference
from regard.records import Floats

_MEASURES: Mapping[str, Callable[..., Floats]] = {
    "kendall": agreement.kendall, "spearman": agreement.spearman, "weighted_kendall": agreement.weighted_kendall,
    "top_k": agreement.top_k_overlap, "rbo": agreement.rbo,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Drifted:
    """Agreement of one method's explanations in two runs: a value per example that was compared.

    other_units: examples that the two models read as different units, which cannot be compared.
    """

    method: str
    ids: tuple[str, ...]
    values: Floats
    other_units: int


class Against:
    """Two runs whose examples are the same where their names are."""

    def __init__(self, new: Stored, old: Stored) -> None:
        self.new, self.old = new, old

    @cached_property
    def shared(self) -> tuple[str, ...]:
        """Ids of the examples that both runs asked about; two examples of one name have to be the same."""
        both = [name for name in self.new.examples if name in self.old.examples]
        other = [name for name in both if self.new.examples[name]["inputs"] != self.old.examples[name]["inputs"]]
        if other:
            raise InputError(
                f"baseline {self.old.run.path}", expected="the same examples under the same names",
                got=f"{len(other)} of {len(both)} that differ, such as {other[0]}",
                remedy="a baseline on the same data",
            )  # fmt: skip
        if not both:
            raise InputError(
                f"baseline {self.old.run.path}", expected="the same examples", got="no example in common",
                remedy="a baseline on the same data and seed",
            )  # fmt: skip
        return tuple(both)

    @cached_property
    def unchanged(self) -> dict[str, bool]:
        """Example -> whether its prediction is the same in both runs."""
        new, old = self.new.examples, self.old.examples
        return {name: _same_prediction(new[name], old[name]) for name in self.shared}

    def difference(self, column: Series, level: float) -> tuple[Interval, float, int, int]:
        """New minus old, p of "no difference", n, independent draws."""
        if column.confidence is not None:
            raise InputError(
                f"{column.metric} against a baseline", expected="a metric with a value per example",
                got="a calibration error", remedy="brier or nll with drop, or max without a baseline",
            )  # fmt: skip
        twin = self._twin(column)
        known = set(self.shared)
        before = dict(zip(twin.ids, twin.values, strict=True))
        ids = [name for name in column.ids if name in before and (name in known or name not in self.new.examples)]
        now = dict(zip(column.ids, column.values, strict=True))
        x, y = (np.array([side[name] for name in ids], np.float64) for side in (now, before))
        clusters = [self.new.cluster(name) for name in ids]
        there = [c for c, a, b in zip(clusters, x, y, strict=True) if not math.isnan(a + b)]
        found, p = paired_difference(x, y, clusters, level=level, seed=self.new.seed)
        return found, p, len(there), len(set(there))

    def _twin(self, column: Series) -> Series:
        """The column of the old run that says the same thing, in the same setting."""
        parts = {key: column.where[key] for key in self.new.part_keys if key in column.where}
        plain = {k: v for k, v in column.where.items() if k not in parts}
        for other in self.old.series.get(column.metric, ()):
            if other.method == column.method and dict(other.where) == plain:
                return other
        named = f"{column.metric} of {column.method}"
        raise InputError(
            f"baseline {self.old.run.path}", expected=f"{named} in the same setting", got="a run that did not store it",
            remedy="a baseline by the same profile",
        )  # fmt: skip

    def drifted(self, drift: Drift) -> list[Drifted]:
        """Every method that the check is about."""
        both = [m for m in self.new.run.methods() if m in self.old.run.methods()]
        if drift.method is None:
            chosen = [m for m in both if not is_baseline(m)]
        else:
            wanted = list(drift.method) if isinstance(drift.method, tuple) else drift.method
            chosen = [m for m in both if matches(m, wanted)]  # type: ignore[arg-type]
        if not chosen:
            shown = ", ".join(drift.method) if isinstance(drift.method, tuple) else drift.method or "any"
            raise UnknownName("method of both runs", shown, both)
        return [self._drift(method, drift) for method in chosen]

    def _drift(self, method: str, drift: Drift) -> Drifted:
        new, old = self.new.run.relevance(method), self.old.run.relevance(method)
        places = {name: i for i, name in enumerate(old.ids)}
        ids, xs, ys, other = [], [], [], 0
        for i, name in enumerate(new.ids):
            if name not in places or name not in self.unchanged or not (drift.all_examples or self.unchanged[name]):
                continue
            mine, theirs = self.new.examples[name]["units"], self.old.examples[name]["units"]
            if mine["names"] != theirs["names"] or mine["special"] != theirs["special"]:
                other += 1
                continue
            free = ~np.asarray(mine["special"], np.bool_)
            ids.append(name)
            xs.append(new[i][free])
            ys.append(old[places[name]][free])
        measure = _MEASURES[drift.measure]
        chosen = partial(measure, k=drift.k) if drift.measure == "top_k" else measure
        return Drifted(method, tuple(ids), agreement.ragged(chosen, xs, ys), other)

    def interval(self, ids: tuple[str, ...], values: Floats, level: float, *, share: bool) -> tuple[Interval, int, int]:
        """share: the values are yes or no; agreements are amounts, also where all of them are 1."""
        clusters = [self.new.cluster(name) for name in ids]
        there = [c for c, v in zip(clusters, values, strict=True) if not math.isnan(v)]
        kind: Literal["auto", "amount"] = "auto" if share else "amount"
        found = mean_interval(values, clusters, kind=kind, level=level, seed=self.new.seed)
        return found, len(there), len(set(there))


def _same_prediction(new: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
    """Whether two runs predict the same. Older runs kept the number of a token and not its text."""
    if isinstance(new["predicted"], str) == isinstance(old["predicted"], str):
        return bool(new["predicted"] == old["predicted"])
    return bool(new.get("target") == old.get("target"))
