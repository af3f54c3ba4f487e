"""Decision of a model on one page: for and against, trust, and changes that would flip it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regard.audits.decisions import Decision, decision, recommended_method
from regard.present.messages.messages import say
from regard.present.report.markup import Html, join, table, tag
from regard.present.run_reader import Material
from regard.present.trust_words import trust_line


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
