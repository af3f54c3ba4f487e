"""Rules for attacks: one record per example, budget and constraints respected, and true successes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from regard.attacks._text import Text
from regard.desk.questions import answers_to
from regard.records import Attacked, Threat
from regard.registry import describe
from regard.testing.explainer_rules import failure
from regard.testing.toy import TEXTS, ToyCase

Attack = Callable[..., Any]
THREATS = (
    Threat(budget=60, max_share=0.5, stop_words=True),
    Threat(budget=7, max_share=0.5, stop_words=True),
    Threat(budget=60, max_share=1.0, stop_words=True, keep=("terrible", "wonderful")),
    Threat(goal="targeted", target="positive", budget=60, max_share=1.0, stop_words=True),
)


def attack_problems(function: Attack) -> Iterator[str]:
    """Yield the rules that an attack breaks."""
    for rule in (_keeps_to_the_threat, _repeats_in_any_order, _looks_at_labels):
        try:
            yield from rule(function)
        except Exception as error:
            yield failure(error, "it was given")


def _keeps_to_the_threat(function: Attack) -> Iterator[str]:
    entry = describe(function)
    for threat in THREATS:
        case = ToyCase()
        records = function(case, threat)
        if len(records) != len(case.ids) or [one.id for one in records] != list(case.ids):
            yield f"it returns records of {[one.id for one in records]}, not one for each example in order"
            return
        for i, one in enumerate(records):
            if one.queries > threat.budget:
                yield f"it asked {one.queries} questions with a budget of {threat.budget}"
            if one.status == "skipped" and not one.why:
                yield "it skips an example and does not say why"
            if one.status != "skipped" and len(one.said_after) != 2:
                yield "it does not say what the model answered afterwards"
            yield from _honest(case, i, one, str(entry.facts["goal"]), threat)
            if entry.facts["goal"] == "prediction" and entry.facts["scope"] == "example":
                yield from _allowed(case, i, one, threat)


def _honest(case: ToyCase, i: int, one: Attacked, goal: str, threat: Threat) -> Iterator[str]:
    """Query the model again about each success, with the returned example."""
    if one.status != "success" or one.example is None:
        return
    rows = answers_to(case.subset([i]), [[one.example]]).distribution
    assert rows is not None
    predicted = int(rows[0].argmax())
    goal_class = 1 if threat.target is not None else 1 - int(str(case.targets[i]))
    if (goal == "prediction" and predicted != goal_class) or (goal != "prediction" and predicted != case.targets[i]):
        yield f"a success on {one.example.inputs} is answered with class {predicted}"
    if one.example.id == one.id or (one.example.parent or "") != one.id:
        yield "the changed example has no id of its own, or does not name the one it was made from"


def _allowed(case: ToyCase, i: int, one: Attacked, threat: Threat) -> Iterator[str]:
    """Check the words of a changed text: few enough, and none that is protected."""
    if one.example is None or "text" not in one.example.inputs:
        return
    text = Text(case.examples[i], threat)
    words = str(one.example.inputs["text"]).split()
    if len(words) != len(text.words):
        return  # deletions: which ones cannot be told from outside
    if not text.allows(tuple(words)):
        yield f"{text.original!r} became {' '.join(words)!r}, which the threat does not allow"


def _repeats_in_any_order(function: Attack) -> Iterator[str]:
    if describe(function).facts["scope"] == "case":
        return
    threat, order = THREATS[0], list(reversed(range(len(TEXTS))))
    whole, again = function(ToyCase(), threat), function(ToyCase(), threat)
    turned = function(ToyCase().subset(order), threat)
    alone = [function(ToyCase().subset([i]), threat)[0] for i in range(len(TEXTS))]
    for name, other in (("again", again), ("in another order", list(reversed(turned))), ("one by one", alone)):
        if not _same(whole, other):
            yield f"it finds something else {name}"


def _same(one: Sequence[Attacked], other: Sequence[Attacked]) -> bool:
    def key(record: Attacked) -> tuple[object, ...]:
        inputs = None if record.example is None else str(record.example.inputs)
        return record.id, record.status, record.queries, inputs

    close = all(np.allclose(a.said_after, b.said_after, atol=1e-6) for a, b in zip(one, other, strict=True))
    return list(map(key, one)) == list(map(key, other)) and close


def _looks_at_labels(function: Attack) -> Iterator[str]:
    case = ToyCase()
    first, *others = case.examples
    wrong = case.labels[1 - int(str(case.targets[0]))]
    records = function(ToyCase([replace(first, label=wrong), *others]), THREATS[0])
    if records[0].status != "skipped" or records[0].why != "misclassified":
        yield "an example that is wrong from the start must be skipped as misclassified"
