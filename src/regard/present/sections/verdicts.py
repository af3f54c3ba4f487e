"""The verdicts: first of all, in plain words, each with its rule and the numbers behind it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regard.present.markup import Html, join, table, tag
from regard.present.run_reader import Material
from regard.present.verdict_words import about, contrast, headline, said, weakest

TITLE = "Verdict: may this attention be read as an explanation?"


def verdicts(material: Material) -> Html | None:
    """One reading for each attention that was audited; nothing where nothing was judged."""
    found = material.manifest.get("judgements")
    return join([_judgement(j) for j in found]) if found else None


def _judgement(judgement: Mapping[str, Any]) -> Html:
    words = headline(judgement)
    head = ("question", "answer", "in words", "what it does not say")
    rows = [
        (v["question"], tag("strong", None, v["answer"]), _in_words(v), v["not_claimed"]) for v in judgement["verdicts"]
    ]
    margins = table(("a rule compares with", "margin"), [(k, str(v)) for k, v in judgement["margins"].items()])
    return join(
        tag("p", {"class": "warn" if judgement["reading"] != "read as evidence" else None}, tag("strong", None, words)),
        tag("p", None, judgement["sentence"]),
        tag("p", {"class": "soft"}, f"{about(judgement)} Reason for the reading: {judgement['why']}."),
        [tag("p", {"class": "soft"}, note) for note in judgement["notes"]],
        table(head, rows),
        [_evidence(v) for v in judgement["verdicts"]],
        tag("details", None, tag("summary", None, "Margins, fixed before looking"), margins),
    )


def _in_words(verdict: Mapping[str, Any]) -> Html:
    """The sentence, and the comparison on which it hangs: no answer without an interval."""
    behind = weakest(verdict)
    return join(tag("div", None, said(verdict)), tag("div", {"class": "soft"}, behind) if behind else None)


def _evidence(verdict: Mapping[str, Any]) -> Html:
    """The rule in words, what was found by class and operator, and every comparison."""
    rows = [row for row in verdict["rows"] if row]
    columns = [*dict.fromkeys(key for row in rows for key in row)]
    found = table(columns, [[_cell(row.get(c)) for c in columns] for row in rows]) if rows else None
    compared = [tag("li", None, contrast(c)) for c in verdict["contrasts"] if c["estimate"] is not None]
    return tag(
        "details", None,
        tag("summary", None, f"The rule and the numbers: {verdict['question']}"),
        tag("p", None, f"Rule {verdict['rule']}. {verdict['rule_in_words']}"),
        found,
        tag("ul", None, compared) if compared else None,
    )  # fmt: skip


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
