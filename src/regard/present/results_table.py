"""Table of an audit: methods down, metrics across; every cell a summary with its interval."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from regard.audits.conclusions.settings import OTHER, Setting, of_a_part, other_method, setting
from regard.present.messages.messages import id_words, known, say
from regard.present.objective_scale import current_scale
from regard.records import Summary

USUAL = (("measure", "kendall"),)
"""Settings that need no mention."""


@dataclass(frozen=True, slots=True)
class Column:
    """Column of one metric in one setting (operator, k, the other method)."""

    metric: str
    setting: Setting
    better: str

    @property
    def title(self) -> str:
        return metric_title(self.metric)

    @property
    def detail(self) -> str:
        return ", ".join(_said(key, value) for key, value in self.setting if (key, value) not in USUAL)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Table content: columns in the order of the run; methods with the baseline last; cells with a number."""

    columns: tuple[Column, ...]
    methods: tuple[str, ...]
    cells: Mapping[tuple[str, Column], Summary]
    own: Mapping[str, str]

    def judged_by_itself(self, method: str, column: Column) -> bool:
        """Return whether the column removes units by the operator that the method itself uses, which favours it."""
        return method in self.own and ("operator", self.own[method]) in column.setting

    def best(self, column: Column) -> str | None:
        """The method with the best estimate, if it lies beyond the interval of the baseline.

        Never a baseline, a method without an interval, or one judged by itself.
        """
        estimates = [
            (summary.estimate, method)
            for (method, c), summary in self.cells.items()
            if c == column
            and summary.role == "method"
            and math.isfinite(summary.low)
            and math.isfinite(summary.high)
            and not self.judged_by_itself(method, column)
        ]
        if not estimates or column.better == "none":
            return None
        pick = max if column.better == "higher" else min
        estimate, method = pick(estimates, key=lambda pair: pair[0])
        base = self.baseline(column)
        if base is not None and math.isfinite(base.low) and base.low <= estimate <= base.high:
            return None  # the best of methods that are no better than random is no winner
        beaten = base is None or not math.isfinite(base.estimate) or pick(estimate, base.estimate) == estimate
        return method if beaten else None

    def role(self, method: str) -> str:
        roles = {s.role for (m, _), s in self.cells.items() if m == method}
        return "baseline" if "baseline" in roles else "method"

    def baseline(self, column: Column) -> Summary | None:
        return next((s for (_, c), s in self.cells.items() if c == column and s.role == "baseline"), None)


def metric_title(name: str) -> str:
    """Name a metric in the current language, on the scale of the model's task."""
    if name == "log_odds" and (scale := current_scale()) != "log_odds":
        return say(f"metric.{scale}")
    return say(f"metric.{name}") if known(f"metric.{name}") else name.replace("_", " ")


def unit_kind(name: str) -> str:
    """Name a unit: word, patch, step, column."""
    return say(f"noun.unit.{name}") if known(f"noun.unit.{name}") else name


def _said(key: str, value: str) -> str:
    if key in OTHER:
        return say("results.with", method=value)
    return value if key == "operator" else f"{key} {id_words('setting_value', value)}"


def evidence(
    summaries: Sequence[Summary], methods: Sequence[str], own: Mapping[str, str] = MappingProxyType({})
) -> Evidence:
    """Build the table of every summary over all examples, without those of one class. own: method -> its operator."""
    columns: dict[Column, None] = {}
    cells: dict[tuple[str, Column], Summary] = {}
    for summary in summaries:
        if of_a_part(summary.where):
            continue
        column = Column(summary.metric, setting(summary.where), summary.better)
        columns[column] = None
        cells[summary.method, column] = summary
    with_numbers = list(dict.fromkeys(method for method, _ in cells))
    ordered = [m for m in methods if m in with_numbers] + [m for m in with_numbers if m not in methods]
    results = Evidence(tuple(columns), tuple(ordered), cells, own)
    return replace(results, methods=tuple(sorted(ordered, key=lambda m: results.role(m) == "baseline")))


def main_settings(columns: Sequence[Column], *, each: int = 2) -> tuple[Column, ...]:
    """Return the first settings of every metric (two removal operators); the rest is shown separately."""
    groups: dict[str, list[Column]] = {}
    for column in columns:
        groups.setdefault(column.metric, []).append(column)
    return tuple(column for group in groups.values() for column in group[:each])


def shown(summary: Summary | None) -> tuple[str, str]:
    """Estimate and interval as text."""
    if summary is None:
        return say("unknown"), say("results.not_computed")
    if not math.isfinite(summary.estimate):
        alone = other_method(summary.where) == summary.method
        return say("unknown"), say("results.with_itself" if alone else "results.undefined")
    if not math.isfinite(summary.low):
        return f"{summary.estimate:.3f}", say("results.few")
    return f"{summary.estimate:.3f}", f"[{summary.low:.3f}, {summary.high:.3f}]"
