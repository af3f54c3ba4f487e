"""Results as a few lines of HTML, for notebooks: an explanation or a run."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.cards import Card
from regard.present.card_text import card_name, card_value, hidden_rows, shown_facts
from regard.present.messages.messages import count, render, say
from regard.present.objective_scale import about_task
from regard.present.overview import overview
from regard.present.palette import AMOUNT, LEVELS, MINUS, PLUS
from regard.present.report.drawings.unit_drawing import unit_drawing
from regard.present.report.gauge import gauge_drawing
from regard.present.report.markup import Html, join, tag
from regard.present.run_reader import Material
from regard.present.verdict_words import SIGNS, answer, headline, question, tone
from regard.store.judgements import judgement_to_json
from regard.store.shard_result import units_to_json

if TYPE_CHECKING:
    from regard.audits.explain import Explained
    from regard.records import Judgement
    from regard.store.run import Run

SCOPE = "regard-cell"
"""Class around everything, so that no style rule reaches the notebook's own elements."""
MOST = 10
"""Maximum examples of an explanation to draw."""


def explained_html(explained: Explained) -> str:
    """Each example coloured by each method, above its prediction."""
    parts = []
    for i, example in enumerate(explained.examples[:MOST]):
        facts = {"units": units_to_json(explained.units[i]), "inputs": example.inputs}
        rows = [
            tag(
                "div",
                {"class": "row"},
                tag("b", None, method),
                unit_drawing(facts, relevance[i], signed=relevance.signed),
            )
            for method, relevance in explained.relevance.items()
        ]
        predicted = say("maps.predicted", label=explained.said(i))
        parts.append(tag("div", {"class": "example"}, tag("p", None, f"{example.id}: {predicted}"), rows))
    hidden = len(explained.examples) - len(parts)
    more = tag("p", None, say("notebook.more", n=count(hidden, "example"))) if hidden else None
    return _cell(*parts, more)


def run_html(run: Run) -> str:
    """The verdict of a run with its gauge and answers, and a link to its report."""
    material = Material(run)
    with about_task(material.task):
        page = overview(material)
        if page is None:
            return _cell(tag("p", None, repr(run)))
        report = Path(run.path) / "report.html"
        rows = [
            tag("li", None, tag("b", None, f"{SIGNS[row.tone]} {answer(row.verdict)}"), f" {question(row.verdict)}")
            for row in page.answers
        ]
        return _cell(
            tag("p", None, tag("b", None, headline(material.manifest["judgements"][0]))),
            gauge_drawing(page.gauge) if page.gauge else None,
            tag("ul", None, rows),
            [tag("pre", None, step.command) for step in page.steps],
            _link(report) if report.is_file() else None,
        )


def _link(report: Path) -> Html:
    """Link to a file, relative to the notebook's directory."""
    place = os.path.relpath(report)
    return tag("p", None, tag("a", {"href": Path(place).as_posix()}, say("words.report", path=place)))


def judgements_html(judgements: Sequence[Judgement]) -> str:
    """The overall reading of each attention, and every question with its answer."""
    parts: list[Html] = []
    stored: list[Mapping[str, Any]] = [judgement_to_json(judgement) for judgement in judgements]
    for judgement in stored:
        rows = [
            tag("li", None, tag("b", None, f"{SIGNS[tone(verdict)]} {answer(verdict)}"), f" {question(verdict)}")
            for verdict in judgement["verdicts"]
        ]
        parts += [tag("p", None, tag("b", None, headline(judgement))), tag("p", None, render(judgement["sentence"]))]
        parts.append(tag("ul", None, rows))
    return _cell(*parts)


def card_html(card: Card) -> str:
    """A heading, the facts as a list of terms, and the first rows as a table."""
    facts = [
        join(tag("dt", None, card_name(name)), tag("dd", None, card_value(value)))
        for name, value in shown_facts(card).items()
    ]
    rows = card.rows[:MOST]
    columns = [name for name in rows[0] if any(row.get(name) not in (None, "") for row in rows)] if rows else []
    table = tag(
        "table",
        None,
        tag("tr", None, [tag("th", {"scope": "col"}, card_name(name)) for name in columns]),
        [tag("tr", None, [tag("td", None, card_value(row.get(name))) for name in columns]) for row in rows],
    )
    hidden = hidden_rows(card, MOST)
    return _cell(
        tag("p", None, tag("b", None, f"{card.kind} {card.title}".strip())),
        tag("dl", None, facts) if facts else None,
        table if rows else None,
        tag("p", None, say("card.more_rows", n=hidden)) if rows and hidden else None,
    )


def _cell(*children: Html | list[Html] | None) -> str:
    return str(join(tag("div", {"class": SCOPE}, tag("style", None, Html(_style())), *children)))


def _style() -> str:
    rules = [
        f".{SCOPE} .row {{ display: grid; grid-template-columns: 12rem 1fr; gap: .5rem; }}",
        f".{SCOPE} dl {{ display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: .3rem 0; }}",
        f".{SCOPE} dt {{ font-weight: 600; }} .{SCOPE} dd {{ margin: 0; }}",
        f".{SCOPE} .u {{ border-radius: 3px; }} .{SCOPE} p {{ margin: .2rem 0; }}",
        f".{SCOPE} .gauge {{ max-width: 44rem; }} .{SCOPE} .axis {{ stroke: currentColor; }}",
        f".{SCOPE} .threshold {{ stroke: currentColor; stroke-dasharray: 4 3; }}",
        f".{SCOPE} text {{ fill: currentColor; font-size: 13px; }} .{SCOPE} .end {{ text-anchor: end; }}",
        f".{SCOPE} .mid {{ text-anchor: middle; }} .{SCOPE} .span {{ opacity: .3; }}",
        f".{SCOPE} .span, .{SCOPE} .here {{ fill: #3b82c4; }}",
    ]
    for side, colour in (("p", PLUS), ("m", MINUS), ("a", AMOUNT)):
        numbers = ", ".join(map(str, colour))
        rules += [
            f".{SCOPE} .{side}{i} {{ background: rgba({numbers}, {0.075 * i:.3f}); }}" for i in range(1, LEVELS + 1)
        ]
    return "\n".join(rules)
