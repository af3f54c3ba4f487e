"""First page: headline, gauge, one example by two methods, six answers, next steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regard.audits.conclusions.typical_example import typical_example
from regard.present.messages.messages import render, say
from regard.present.model_warning import model_warning
from regard.present.overview import Gauge, HeadlineAnswer, Overview, overview
from regard.present.report.drawings.unit_drawing import unit_drawing
from regard.present.report.gauge import gauge_drawing, gauge_words
from regard.present.report.markup import Html, command_line, join, tag
from regard.present.run_reader import Material
from regard.present.verdict_words import (
    SIGNS,
    about,
    action_lines,
    answer,
    estimate_line,
    headline,
    question,
    said,
    single_class_line,
)

MARKS = {
    "read as evidence": "good",
    "for most inputs": "part",
    "debugging only": "part",
    "do not read": "bad",
    "nothing to read": "bad",
    "undecided": "open",
}
ATTENTION = "attention"


def first_screen(material: Material) -> Html:
    """Build the summary for a reader with two minutes, on one printed page."""
    warning = model_warning(material)
    page = overview(material)
    return join(
        tag("p", {"class": "warn", "role": "alert"}, warning) if warning and not material.broken else None,
        _reading(material),
        *([] if page is None else [_gauge(material, page.gauge), _maps(material, page), _tiles(page), _next(page)]),
    )


def _reading(material: Material) -> Html:
    judgements = material.manifest.get("judgements") or []
    if not judgements:
        return tag(
            "div",
            {"class": "reading open"},
            tag("p", {"class": "question"}, say("reading.title")),
            tag("p", {"class": "headline"}, say("reading.none")),
            tag("p", None, say("reading.none_said")),
        )
    first, others = judgements[0], judgements[1:]
    more = None
    if others:
        lines = [tag("li", None, f"{render(j['attention'])}: {headline(j)}") for j in others]
        more = tag("details", None, tag("summary", None, say("reading.other_maps")), tag("ul", None, lines))
    return tag(
        "div",
        {"class": f"reading {MARKS[first['reading']]}"},
        tag("p", {"class": "question"}, say("reading.title")),
        tag("p", {"class": "headline"}, headline(first)),
        tag("p", None, render(first["sentence"])),
        [tag("p", None, line) for line in action_lines(first)],
        tag("p", {"class": "soft"}, about(first), " ", say("reading.why", why=render(first["why"]))),
        [tag("p", {"class": "soft"}, render(note)) for note in first["notes"]],
        more,
    )


def _gauge(material: Material, gauge: Gauge | None) -> Html | None:
    if gauge is None:
        return None
    judgement = material.manifest["judgements"][0]
    words = estimate_line(judgement) or gauge_words(gauge)
    caption = tag("figcaption", None, words, " ", single_class_line(judgement))
    return tag("figure", {"id": "gauge", "class": "plain"}, gauge_drawing(gauge), caption)


def _maps(material: Material, page: Overview) -> Html | None:
    """Show one example coloured by attention above the same coloured by the method to show, or by the best one."""
    other = page.show or _stored_best(material, page.gauge)
    if not other or ATTENTION not in material.methods or other not in material.methods:
        return None
    name = typical_example(material, ATTENTION, other)
    if name is None:
        return None
    example, twins = material.by_id[name], []
    for method in (ATTENTION, other):
        values = material.relevance_of(method, name)
        if values is not None:
            drawing = unit_drawing(example, values, signed=material.relevances[method].signed)
            twins.append(tag("div", {"class": "twin"}, tag("p", {"class": "who"}, tag("b", None, method)), drawing))
    pictures = example["units"]["place_kind"] in ("box", "column")
    predicted = say("maps.predicted", label=material.answer(example["predicted"]))
    return tag(
        "figure",
        {"id": "maps", "class": "plain"},
        tag("div", {"class": "twins pictures" if pictures else "twins"}, twins),
        tag("figcaption", None, say("maps.caption", example=name, predicted=predicted)),
    )


def _stored_best(material: Material, gauge: Gauge | None) -> str:
    """Best method of the gauge, if the run has its relevances; a ranking may also name its operator."""
    name = gauge.best.partition(":")[0] if gauge else ""
    return name if name in material.methods else ""


def _tiles(page: Overview) -> Html | None:
    return tag("div", {"class": "tiles", "role": "list"}, map(_tile, page.answers)) if page.answers else None


def _tile(row: HeadlineAnswer) -> Html:
    return tag(
        "div",
        {"class": f"tile {row.tone}", "role": "listitem", "data-question": row.question, "data-answer": row.answer},
        tag("p", {"class": "question"}, question(row.verdict)),
        tag("p", {"class": "word"}, tag("span", {"aria-hidden": "true"}, SIGNS[row.tone]), f" {answer(row.verdict)}"),
        tag("p", {"class": "soft"}, said(_shortened(row.verdict))),
    )


def _shortened(verdict: Mapping[str, Any]) -> Mapping[str, Any]:
    """The verdict without the number of examples that would settle it, which the next step states."""
    return {**verdict, "decides_at": None, "decides_between": None}


def _next(page: Overview) -> Html:
    steps = [tag("li", None, say(step.purpose, method=page.show), command_line(step.command)) for step in page.steps]
    return tag("section", {"id": "next"}, tag("h2", {"class": "quiet"}, say("next.title")), tag("ol", None, steps))
