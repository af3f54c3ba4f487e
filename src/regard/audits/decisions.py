"""Single decision of a model from a stored run: the units for and against it, and the removals that change it.

For and against are the units with the largest positive and negative relevance by the method that the audit says to
show. The answer changes without a unit if leave-one-out takes more from the log-odds of the predicted class than there
is (two classes); it stays otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.audits.conclusions.run_facts import RunFacts
from regard.audits.conclusions.word_units import gathered
from regard.records import Floats

MOST_UNITS = 5
LEAVE_ONE_OUT = "leave_one_out"


@dataclass(frozen=True, slots=True)
class Decision:
    """speaks_for, speaks_against, removals: (unit, number), the largest first. flips: units whose removal alone changes
    the answer; None where that was not measured."""

    example: Mapping[str, Any]
    method: str
    signed: bool
    speaks_for: tuple[tuple[str, float], ...]
    speaks_against: tuple[tuple[str, float], ...]
    removals: tuple[tuple[str, float], ...]
    flips: tuple[str, ...] | None


def recommended_method(facts: RunFacts) -> str:
    """The method that the audit says to show; "" where it recommends none, or the run does not have it."""
    judgements = facts.manifest.get("judgements") or ()
    graded = (judgements[0].get("graded") if judgements else None) or {}
    name = str(graded.get("show") or "")
    return name if name in facts.methods else ""


def shown_method(facts: RunFacts) -> str:
    """The recommended method, else attention, else the first of the run."""
    fallback = "attention" if "attention" in facts.methods else facts.methods[0]
    return recommended_method(facts) or fallback


def decision(facts: RunFacts, example: Mapping[str, Any]) -> Decision | None:
    """The decision about an example; None where the shown method has no relevance for it."""
    method = shown_method(facts)
    values = facts.relevance_of(method, str(example["id"]))
    if values is None:
        return None
    signed = facts.relevances[method].signed
    rows = _ranked(example, values)
    removal_values = facts.relevance_of(LEAVE_ONE_OUT, str(example["id"])) if LEAVE_ONE_OUT in facts.methods else None
    removals = () if removal_values is None else tuple(_ranked(example, removal_values)[:MOST_UNITS])
    two_classes = len(facts.manifest["model"].get("labels") or ()) == 2
    measured = removal_values is not None and two_classes and example.get("value") is not None
    flips = tuple(name for name, drop in removals if drop > float(example["value"])) if measured else None
    return Decision(
        example=example,
        method=method,
        signed=signed,
        speaks_for=tuple(row for row in rows[:MOST_UNITS] if row[1] > 0),
        speaks_against=tuple(row for row in rows[::-1][:MOST_UNITS] if row[1] < 0),
        removals=removals,
        flips=flips,
    )


def _ranked(example: Mapping[str, Any], values: Floats) -> list[tuple[str, float]]:
    """(word, number) by number, largest first; words where units are pieces of words."""
    whole = example["units"]["place_kind"] == "span" and any(example.get("inputs") or {})
    display, numbers = gathered(example, values) if whole else (example, np.asarray(values))
    names = display["units"]["names"]
    free = [i for i in range(len(names)) if not display["units"]["special"][i]]
    return [(str(names[i]), float(numbers[i])) for i in sorted(free, key=lambda i: (-float(numbers[i]), i))]
