"""The verdicts in plain words, each opening to its rule, its comparisons, curves and examples."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from regard.present.messages.messages import known, render, say
from regard.present.report.contrast_chart import contrast_chart
from regard.present.report.markup import Html, join, table, tag
from regard.present.report.sections.meaning import anchor
from regard.present.run_reader import Material
from regard.present.verdict_evidence import evidence_behind
from regard.present.verdict_words import SIGNS, about, answer, contrast, headline, question, said, tone, weakest

NAMED = ("answer", "operator", "by", "when", "here", "slice")
"""Columns whose values have names in the catalogue."""
HALVES = ("length", "confidence", "label")
"""Slices that regard defines itself, so that their values have names."""


def verdicts(material: Material) -> Html | None:
    """Build one list for each audited attention."""
    judgements = material.manifest.get("judgements")
    if not judgements:
        return tag("p", None, say("verdicts.none"))
    lead = tag("p", {"class": "soft on-screen"}, say("verdicts.lead"))
    return join(lead, [_judgement(j, material, alone=len(judgements) == 1) for j in judgements])


def _judgement(judgement: Mapping[str, Any], material: Material, *, alone: bool) -> Html:
    margins = table(
        (say("verdicts.margin_of"), say("verdicts.margin")),
        [(_margin(k), str(v)) for k, v in judgement["margins"].items()],
    )
    head = None if alone else tag("h3", None, f"{headline(judgement)} ", tag("small", None, about(judgement)))
    return join(
        head,
        tag("div", {"class": "verdicts"}, [_verdict(v, material) for v in judgement["verdicts"]]),
        tag("details", None, tag("summary", None, say("verdicts.margins")), margins),
    )


def _verdict(verdict: Mapping[str, Any], material: Material) -> Html:
    """Render a verdict: its answer and words at once, the rest unfolds."""
    behind, target = weakest(verdict), anchor(verdict["question"])
    badge = tag(
        "span",
        {"class": f"badge {tone(verdict)}"},
        tag("span", {"aria-hidden": "true"}, SIGNS[tone(verdict)]),
        f" {answer(verdict)}",
    )
    heading = tag(
        "span",
        {"class": "told"},
        tag("b", None, question(verdict)),
        tag("br"),
        said(verdict),
        tag("span", {"class": "soft hangs"}, behind) if behind else None,
    )
    link = tag("a", {"href": f"#{target}"}, say("page.to_meaning")) if target else None
    return tag(
        "details",
        {"class": "verdict"},
        tag("summary", None, badge, heading),
        tag(
            "div",
            {"class": "behind"},
            tag("p", None, say("verdicts.rule", rule=_rule(verdict), words=render(verdict["rule_in_words"]))),
            tag("p", None, say("verdicts.not_claimed", words=render(verdict["not_claimed"])), " ", link),
            _compared(verdict),
            evidence_behind(verdict, material),
            _rows(verdict),
        ),
    )


def _rule(verdict: Mapping[str, Any]) -> str:
    """Name of the rule, and the reason for withdrawing its answer."""
    overruled = verdict.get("overruled")
    return say("listed").join([verdict["rule"], *([render(overruled)] if overruled else [])])


def _margin(name: str) -> str:
    return say(f"margin.{name}") if known(f"margin.{name}") else name


def _compared(verdict: Mapping[str, Any]) -> Html | None:
    """Every comparison: as a chart if there are few, as lines in any case."""
    known_ones = [c for c in verdict["contrasts"] if c["estimate"] is not None]
    if not known_ones:
        return None
    lines = tag("ul", {"class": "soft"}, [tag("li", None, contrast(c)) for c in known_ones])
    chart = contrast_chart(known_ones)
    return join(
        tag("figure", None, chart, tag("figcaption", None, say("verdicts.margin_caption"))) if chart else None,
        tag("details", None, tag("summary", None, say("verdicts.compared")), lines),
    )


def _rows(verdict: Mapping[str, Any]) -> Html | None:
    """Build rows by class and operator, if the question has them."""
    rows = [row for row in verdict["rows"] if row]
    columns = [*dict.fromkeys(key for row in rows for key in row)]
    if not rows:
        return None
    head = [_head(c) for c in columns]
    body = [[_cell(c, row) for c in columns] for row in rows]
    return tag("details", None, tag("summary", None, say("verdicts.by_class")), table(head, body))


def _head(column: str) -> str:
    key = f"column.{_slug(column)}"
    return say(key) if known(key) else column


def _cell(column: str, row: Mapping[str, Any]) -> str:
    value = row.get(column)
    if value is None:
        return ""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    key = f"cell.{_slug(str(value))}"
    has_words = column in NAMED or (column == "value" and row.get("slice") in HALVES)
    return say(key) if has_words and known(key) else str(value)


def _slug(name: str) -> str:
    """
    >>> _slug("siblings (nats)")
    'siblings_nats'
    """
    return re.sub(r"\W+", "_", name).strip("_")
