"""The result of an answer audit in a terminal: the headline, one row per method, and the rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from regard.present.answer_audit_words import (
    about_words,
    headline_words,
    method_cells,
    robustness_columns,
    robustness_rows,
    rule_words,
    sentences,
)
from regard.present.messages.messages import columns, render, say
from regard.present.terminal.terminal import plain_table

STYLES = {"yes": "green", "no": "red", "not_settled": "yellow"}
MOST_PROBLEMS = 5


def answer_audit_view(facts: Mapping[str, Any]) -> RenderableType:
    """Draw the JSON of an answer audit."""
    rows: list[list[str | Text]] = []
    for method in facts["methods"]:
        name, answer, *cells = method_cells(method)
        rows.append([name, Text(answer, style=STYLES.get(method["answer"], "dim")), *cells])
    parts: list[RenderableType] = [
        Text(headline_words(facts), style="bold"),
        Text(about_words(facts), style="dim"),
        plain_table(columns("answers.page.columns"), rows, right=(6,)),
        Text(say("answers.page.intervals"), style="dim"),
        *(Text(sentence) for sentence in sentences(facts)),
    ]
    if robustness := robustness_rows(facts):
        parts += [Text("\n" + say("answers.page.robustness"), style="bold")]
        parts += [plain_table(robustness_columns(facts), robustness), Text("")]
    problems = [(name, render(reason)) for name, reason in facts["problems"].items()]
    if problems:
        parts.append(Text(say("answers.page.problems"), style="yellow"))
        parts.append(plain_table(columns("answers.page.problem_columns"), problems[:MOST_PROBLEMS]))
    parts += [Text(rule_words(facts), style="dim"), Text(say("answers.page.caveat"), style="bold")]
    return Group(*parts)
