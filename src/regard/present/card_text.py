"""Objects as a few lines of text, for the Python prompt: a model, a capture, an explanation or verdicts."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.text import Text

from regard.cards import Card
from regard.present.messages.messages import count, known, render, say
from regard.present.terminal.terminal import drawing, strongest
from regard.present.verdict_words import answer, headline, question
from regard.records import Message
from regard.store.judgements import judgement_to_json
from regard.store.shard_result import units_to_json

if TYPE_CHECKING:
    from regard.audits.explain import Explained
    from regard.records import Judgement

MOST = 5
"""Maximum examples or rows in a text."""
WIDEST = 60
"""Maximum characters of one value."""


def card_text(card: Card) -> str:
    """Render one line with the facts, then the first rows of the table.

    >>> card_text(Card("Model", "bilstm", {"task": "classification", "labels": ["negative", "positive"]}))
    '<Model bilstm; task: classification; labels: negative, positive>'
    """
    facts = [f"{card_name(name)}: {card_value(value)}" for name, value in shown_facts(card).items()]
    line = f"<{say('card.joint').join(filter(None, [f'{card.kind} {card.title}'.strip(), *facts]))}>"
    return "\n".join([line, *_aligned(card.rows[:MOST]), *_rest(card)])


def shown_facts(card: Card) -> dict[str, Any]:
    """Facts that are not empty."""
    return {name: value for name, value in card.facts.items() if value is not None and value not in ("", [], ())}


def card_name(name: str) -> str:
    """Name of a fact in the current language; a column of a table keeps its name."""
    return say(f"card.{name}") if known(f"card.{name}") else name


def card_value(value: Any) -> str:
    """Render a value in one short line."""
    if value is None:
        return ""
    if isinstance(value, Message):
        return render(value)
    if isinstance(value, list | tuple):
        items = say("listed").join(card_value(part) for part in value[:MOST])
        return say("card.and_more", shown=items, n=len(value) - MOST) if len(value) > MOST else items
    text = f"{value:.3g}" if isinstance(value, float) else " ".join(str(value).split())
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"


def hidden_rows(card: Card, most: int) -> int:
    return max(card.total, len(card.rows)) - min(most, len(card.rows))


def _rest(card: Card) -> list[str]:
    hidden = hidden_rows(card, MOST)
    return [say("card.more_rows", n=hidden)] if card.rows and hidden else []


def _aligned(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Align rows as columns under their names."""
    if not rows:
        return []
    names = [name for name in rows[0] if any(row.get(name) not in (None, "") for row in rows)]
    cells = [[card_name(name) for name in names], *([card_value(row.get(name)) for name in names] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(names))]
    return ["  " + "  ".join(text.ljust(widths[i]) for i, text in enumerate(line)).rstrip() for line in cells]


def explained_text(explained: Explained) -> str:
    """Each prediction, with the text coloured by each method below it if colours are allowed."""
    lines: list[RenderableType] = []
    for i, example in enumerate(explained.examples[:MOST]):
        probability = float(explained.answers.probability[i])
        lines.append(f"{example.id}: {say('maps.predicted', label=explained.said(i))} ({probability:.3f})")
        facts = {"units": units_to_json(explained.units[i]), "inputs": example.inputs}
        for method, relevance in explained.relevance.items():
            lines.append(f"  {method}")
            if _colours():
                lines.append(Padding(drawing(facts, relevance[i], signed=relevance.signed), (0, 4)))
            lines.append(Text.assemble("    ", strongest(facts, relevance[i], signed=relevance.signed)))
    hidden = len(explained.examples) - MOST
    lines += [say("notebook.more", n=count(hidden, "example"))] if hidden > 0 else []
    return _printed(lines)


def judgements_text(judgements: Sequence[Judgement]) -> str:
    """The overall reading of each attention, and every question with its answer."""
    lines = []
    stored: list[Mapping[str, Any]] = [judgement_to_json(judgement) for judgement in judgements]
    for judgement in stored:
        lines += [f"{say('reading.verdict')}: {headline(judgement)}", f"  {render(judgement['sentence'])}"]
        lines += [f"  {answer(verdict)}: {question(verdict)}" for verdict in judgement["verdicts"]]
    return "\n".join(lines) or say("card.no_verdict")


def run_verdict(judgements: Sequence[Mapping[str, Any]]) -> str:
    """Headline of stored judgements; "" if there is none."""
    return headline(judgements[0]) if judgements else ""


def _colours() -> bool:
    """Return whether the prompt is a terminal that supports colours."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def _printed(lines: Sequence[RenderableType]) -> str:
    page = io.StringIO()
    console = Console(file=page, force_terminal=_colours(), no_color=not _colours(), width=_width(), highlight=False)
    for line in lines:
        console.print(line, markup=False)
    return page.getvalue().rstrip("\n")


def _width() -> int:
    from shutil import get_terminal_size

    return max(40, get_terminal_size().columns)
