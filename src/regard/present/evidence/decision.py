"""One decision of a model on one page: for and against, trust, and what would change the answer.

For and against are the units with the largest positive and negative relevance by the method that the audit says to
show. The answer changes without a unit if leave-one-out takes more from the log-odds of the predicted class than there
is (two classes); it stays otherwise. Both come from the stored run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.audits.conclusions.word_units import gathered
from regard.present.messages.messages import say
from regard.present.report.markup import Html, join, table, tag
from regard.present.run_reader import Material
from regard.present.trust_words import trust_line
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


def recommended_method(material: Material) -> str:
    """The method that the audit says to show; "" where it recommends none, or the run does not have it."""
    judgements = material.manifest.get("judgements") or ()
    graded = (judgements[0].get("graded") if judgements else None) or {}
    name = str(graded.get("show") or "")
    return name if name in material.methods else ""


def shown_method(material: Material) -> str:
    """The recommended method, else attention, else the first of the run."""
    fallback = "attention" if "attention" in material.methods else material.methods[0]
    return recommended_method(material) or fallback


def decision(material: Material, example: Mapping[str, Any]) -> Decision | None:
    """The decision about an example; None where the shown method has no relevance for it."""
    method = shown_method(material)
    values = material.relevance_of(method, str(example["id"]))
    if values is None:
        return None
    signed = material.relevances[method].signed
    rows = _ranked(example, values)
    removal_values = (
        material.relevance_of(LEAVE_ONE_OUT, str(example["id"])) if LEAVE_ONE_OUT in material.methods else None
    )
    removals = () if removal_values is None else tuple(_ranked(example, removal_values)[:MOST_UNITS])
    two_classes = len(material.manifest["model"].get("labels") or ()) == 2
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


def decision_page(material: Material, example: Mapping[str, Any]) -> Html | None:
    """The sheet of one decision."""
    facts = decision(material, example)
    if facts is None:
        return None
    text = (example.get("inputs") or {}).get("text")
    key = "answer" if recommended_method(material) else "answer_plain"
    answer = say(
        f"evidence.decision.{key}",
        label=material.answer(example.get("predicted")),
        p=f"{float(example['probability']):.3f}",
        method=facts.method,
    )
    head = [say("evidence.decision.unit"), say("evidence.decision.number")]
    return tag(
        "section",
        {"class": "sheet"},
        tag("h2", None, say("evidence.decision.title", id=example["id"])),
        tag("p", None, text) if isinstance(text, str) else None,
        tag("p", None, answer),
        tag("h3", None, say("evidence.decision.for" if facts.signed else "evidence.decision.marks")),
        table(head, _cells(facts.speaks_for), numeric=True) if facts.speaks_for else _none(),
        tag("h3", None, say("evidence.decision.against")),
        _against(facts, head),
        tag("h3", None, say("evidence.decision.trust")),
        tag("p", None, _reading(material)),
        _mark(material, example),
        tag("h3", None, say("evidence.decision.change")),
        _changes(facts),
    )


def _against(facts: Decision, head: list[str]) -> Html:
    if not facts.signed:
        return tag("p", None, say("evidence.decision.unsigned", method=facts.method))
    return table(head, _cells(facts.speaks_against), numeric=True) if facts.speaks_against else _none()


def _cells(rows: tuple[tuple[str, float], ...]) -> list[list[str]]:
    return [[name, f"{number:+.3f}"] for name, number in rows]


def _none() -> Html:
    return tag("p", None, say("evidence.decision.none"))


def _reading(material: Material) -> str:
    from regard.present.verdict_words import headline

    judgements = material.manifest.get("judgements") or ()
    return headline(judgements[0]) if judgements else say("evidence.decision.unjudged")


def _mark(material: Material, example: Mapping[str, Any]) -> Html:
    rows = {row.example: row for row in material.conclusions.trust_of_examples}
    row = rows.get(str(example["id"]))
    line = say("evidence.decision.no_mark") if row is None else trust_line(row, example)
    return tag("p", None, line)


def _changes(facts: Decision) -> Html:
    if not facts.removals:
        return tag("p", None, say("evidence.decision.no_removal"))
    head = [say("evidence.decision.unit"), say("evidence.decision.drop")]
    if facts.flips is None:
        sentence = say("evidence.decision.not_flipped")
    elif facts.flips:
        sentence = say("evidence.decision.flips", units=say("listed").join(facts.flips))
    else:
        sentence = say("evidence.decision.stays", value=f"{float(facts.example['value']):.2f}")
    return join(tag("p", None, sentence), table(head, _cells(facts.removals), numeric=True))
