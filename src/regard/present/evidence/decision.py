"""Decision of a model on one page: for and against, trust, and changes that would flip it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regard.audits.decisions import Decision, decision, method_trust, recommended_method
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
        tag("p", None, answer, " ", _label(material, example)),
        tag("h3", None, say("evidence.decision.for" if facts.signed else "evidence.decision.marks")),
        table(head, _cells(facts.speaks_for), numeric=True) if facts.speaks_for else _none(),
        tag("h3", None, say("evidence.decision.against")),
        _against(facts, head),
        tag("h3", None, say("evidence.decision.trust")),
        tag("p", None, _measured(material, facts)),
        tag("p", None, say("evidence.decision.attention", reading=_reading(material))),
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


def _label(material: Material, example: Mapping[str, Any]) -> str:
    label = example.get("label")
    if label is None:
        return say("evidence.decision.unlabelled")
    right = material.label(label) == material.label(example.get("predicted"))
    return say(f"evidence.decision.{'right' if right else 'wrong'}", label=material.label(label))


def _measured(material: Material, facts: Decision) -> str:
    """Show the audit's measurements of this page's method, over all examples and on this one."""
    trust = method_trust(material, material.conclusions.differences, facts.method, facts.example)
    if trust is None:
        return say("evidence.decision.unmeasured", method=facts.method)
    row = trust.difference
    sentence = say(
        "evidence.decision.measured",
        method=facts.method,
        estimate=f"{row.estimate:+.2f}",
        low=f"{row.low:+.2f}",
        high=f"{row.high:+.2f}",
        level=f"{100 * row.level:.5g}",
        n=row.n,
        operator=trust.operator,
        reading=say(f"results.reading.{row.reading.replace(' ', '_')}"),
    )
    if trust.here is None or trust.chance is None:
        return sentence + " " + say("evidence.decision.not_here", method=facts.method)
    numbers = {"here": f"{trust.here:+.2f}", "chance": f"{trust.chance:+.2f}"}
    return sentence + " " + say("evidence.decision.here", method=facts.method, **numbers)


def _reading(material: Material) -> str:
    from regard.present.verdict_words import headline

    judgements = material.manifest.get("judgements") or ()
    return headline(judgements[0]) if judgements else say("evidence.decision.unjudged")


def _mark(material: Material, example: Mapping[str, Any]) -> Html:
    rows = {row.example: row for row in material.conclusions.trust_of_examples}
    row = rows.get(str(example["id"]))
    if row is None:
        return tag("p", None, say("evidence.decision.no_mark"))
    return tag("p", None, say("evidence.decision.mark", mark=trust_line(row, example)))


def _changes(facts: Decision) -> Html:
    if not facts.removals:
        return tag("p", None, say("evidence.decision.no_removal"))
    head = [say("evidence.decision.unit"), say("evidence.decision.drop")]
    counts = {"removed": facts.removed, "removable": facts.removable}
    if facts.flips is None:
        sentence = say("evidence.decision.not_flipped")
    elif facts.flips:
        sentence = say("evidence.decision.flips", units=say("listed").join(facts.flips), **counts)
    else:
        key = "stays" if facts.removed == facts.removable else "stays_partly"
        sentence = say(f"evidence.decision.{key}", value=f"{float(facts.example['value']):.2f}", **counts)
    return join(tag("p", None, sentence), table(head, _cells(facts.removals), numeric=True))
