"""Single decision of a model from a stored run: the units for and against it, and the removals that change it.

"For" and "against" are the units with the largest positive and negative relevance by the method that the audit
recommends. With two classes, removing a unit flips the prediction if leave-one-out lowers the log-odds of the predicted
class below zero. Removals act on units as the model reads them: effects of the pieces of a word do not add up to the
effect of the word.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.audits.conclusions.differences import Difference
from regard.audits.conclusions.run_facts import RunFacts
from regard.audits.conclusions.settings import setting
from regard.audits.conclusions.word_units import gathered
from regard.records import Floats

MOST_UNITS = 5
LEAVE_ONE_OUT = "leave_one_out"
COMPREHENSIVENESS = "comprehensiveness"


@dataclass(frozen=True, slots=True)
class MethodTrust:
    """Trust in a method: `difference` over the whole audit, against random units.

    here, chance: comprehensiveness of this input by the method and by random units; None where it was not measured.
    """

    difference: Difference
    operator: str
    here: float | None
    chance: float | None


@dataclass(frozen=True, slots=True)
class Decision:
    """Decision about one example.

    speaks_for, speaks_against, removals: (unit, number), largest first. flips: units whose removal alone flips the
    prediction; None if not measured. removed, removable: units removed one by one, out of all.
    """

    example: Mapping[str, Any]
    method: str
    signed: bool
    speaks_for: tuple[tuple[str, float], ...]
    speaks_against: tuple[tuple[str, float], ...]
    removals: tuple[tuple[str, float], ...]
    flips: tuple[str, ...] | None
    removed: int
    removable: int


def recommended_method(facts: RunFacts) -> str:
    """Method that the audit recommends; "" if it recommends none, or if the run does not have it."""
    judgements = facts.manifest.get("judgements") or ()
    graded = (judgements[0].get("graded") if judgements else None) or {}
    name = str(graded.get("show") or "")
    return name if name in facts.methods else ""


def shown_method(facts: RunFacts) -> str:
    """The recommended method, else attention, else the first of the run."""
    fallback = "attention" if "attention" in facts.methods else facts.methods[0]
    return recommended_method(facts) or fallback


def decision(facts: RunFacts, example: Mapping[str, Any]) -> Decision | None:
    """Decision about an example; None if the shown method has no relevance for it."""
    method = shown_method(facts)
    values = facts.relevance_of(method, str(example["id"]))
    if values is None:
        return None
    signed = facts.relevances[method].signed
    rows = _ranked(example, values)
    removal_values = facts.relevance_of(LEAVE_ONE_OUT, str(example["id"])) if LEAVE_ONE_OUT in facts.methods else None
    effects = [] if removal_values is None else _ranked_units(example["units"], removal_values)
    two_classes = len(facts.manifest["model"].get("labels") or ()) == 2
    measured = removal_values is not None and two_classes and example.get("value") is not None
    flips = tuple(name for name, drop in effects if drop > float(example["value"])) if measured else None
    return Decision(
        example=example,
        method=method,
        signed=signed,
        speaks_for=tuple(row for row in rows[:MOST_UNITS] if row[1] > 0),
        speaks_against=tuple(row for row in rows[::-1][:MOST_UNITS] if row[1] < 0),
        removals=tuple(effects[:MOST_UNITS]),
        flips=flips,
        removed=_removed(facts, len(effects)),
        removable=len(effects),
    )


def method_trust(
    facts: RunFacts, differences: Iterable[Difference], method: str, example: Mapping[str, Any]
) -> MethodTrust | None:
    """Return the audit's measurements of a method, over all examples and on this one; None if there are none.

    The operator that the method itself uses to remove units is excluded, as in every comparison.
    """
    own = facts.own_operators.get(method)
    rows = [d for d in differences if d.method == method and d.metric == COMPREHENSIVENESS and d.n]
    row = next((d for d in rows if dict(d.setting).get("operator") != own), None)
    if row is None:
        return None
    here, chance = (_score(facts, name, row, str(example["id"])) for name in (method, row.baseline))
    return MethodTrust(row, str(dict(row.setting).get("operator", "")), here, chance)


def _score(facts: RunFacts, method: str, row: Difference, example: str) -> float | None:
    for score in facts.scores:
        alike = (score.method, score.metric, setting(score.where)) == (method, row.metric, row.setting)
        if alike and example in score.ids:
            value = float(score.values[score.ids.index(example)])
            return value if np.isfinite(value) else None
    return None


def _removed(facts: RunFacts, removable: int) -> int:
    """Units that leave-one-out removed one by one: fewer than all of them where a long input was screened."""
    specs = facts.manifest.get("settings", {}).get("explainers", [])
    params: Mapping[str, Any] = next((spec.get("params", {}) for spec in specs if spec["name"] == LEAVE_ONE_OUT), {})
    most = params.get("most")
    return removable if most is None else min(removable, int(most))


def _ranked(example: Mapping[str, Any], values: Floats) -> list[tuple[str, float]]:
    """(word, number) by number, largest first; words where units are pieces of words."""
    whole = example["units"]["place_kind"] == "span" and any(example.get("inputs") or {})
    display, numbers = gathered(example, values) if whole else (example, np.asarray(values))
    return _ranked_units(display["units"], numbers)


def _ranked_units(units: Mapping[str, Any], numbers: Floats) -> list[tuple[str, float]]:
    names = units["names"]
    free = [i for i in range(len(names)) if not units["special"][i]]
    return [(str(names[i]), float(numbers[i])) for i in sorted(free, key=lambda i: (-float(numbers[i]), i))]
