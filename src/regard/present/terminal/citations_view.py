"""Answer with its citations in a terminal: one row per sentence, one per source, and the meaning of the numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from regard.present.citation_words import citation_errors, meaning_of_numbers, unclear_reasons
from regard.present.messages.messages import columns, count, render, say
from regard.present.terminal.terminal import plain_table

WIDTH = 46
"""Maximum characters of a sentence or source."""
MOST_SOURCES = 20
STYLES = {"cite": "green", "either": "green", "traced": "green", "none": "bold", "unclear": "yellow"}


def citations_view(facts: Mapping[str, Any]) -> RenderableType:
    """Draw the JSON of a cited answer."""
    sentences, sources = facts["sentences"], facts["sources"]
    title = say(
        "term.cite.title",
        model=facts["model"],
        sentences=count(len(sentences), "sentence"),
        sources=count(len(sources), "source"),
        delta=facts["delta"],
    )
    parts: list[RenderableType] = [Text(title, style="bold")]
    if facts["generated"]:
        parts.append(Text(say("term.cite.generated", model=facts["model"])))
    parts.append(plain_table(columns("term.cite.columns"), [_sentence(s) for s in sentences], right=(3, 4, 5)))
    parts += [Text(line, style="yellow") for line in unclear_reasons(facts)]
    parts += [Text("\n" + say("term.cite.sources_title"), style="bold"), _sources(facts)]
    supported = sum(sentence["supported"] for sentence in sentences)
    parts.append(Text("\n" + say("term.cite.supported", n=supported, all=len(sentences))))
    parts += [Text(say("term.note", text=render(note)), style="yellow") for note in facts["notes"]]
    parts.append(Text(meaning_of_numbers(facts), style="dim"))
    cost = say("term.cite.cost", passes=facts["passes"], tokens=facts["prompt_tokens"], ranking=facts["ranking_passes"])
    parts += [Text(line, style="dim") for line in (*citation_errors(facts), cost)]
    parts += [Text(say("term.cite.caveat"), style="bold")]
    return Group(*parts)


def _sentence(sentence: Mapping[str, Any]) -> list[str | Text]:
    cited = sentence["cited"]
    measured = [c for c, effect in enumerate(sentence["effects"]) if effect is not None]
    best = cited or [max(measured, key=lambda c: sentence["effects"][c])]
    both = sentence["pair"] if sentence["status"] == "either" else None
    both = sentence["trace"] or both
    hidden = [both["effect"]] if both else [sentence["effects"][c] for c in best]
    group = sentence["group"]["exact"] if sentence["group"] else None
    deleted = [both["exact"]] if both else [group if (e := sentence["exact"][c]) is None else e for c in best]
    return [
        short(sentence["text"]),
        Text(say(f"cite.status.{sentence['status']}"), style=STYLES[sentence["status"]]),
        _origin(sentence) or "-",
        ", ".join(f"{value:.1f}" for value in hidden),
        ", ".join("-" if value is None else f"{value:.1f}" for value in deleted),
        f"{sentence['whole']:.1f}",
    ]


def _origin(sentence: Mapping[str, Any]) -> str:
    """Return the numbers of the cited sources, and of the sentences through which they are cited."""
    trace = sentence["trace"]
    sources = ", ".join(str(c + 1) for c in (trace["sources"] if trace else sentence["cited"]))
    return (
        say("term.cite.via", sources=sources, path=", ".join(str(w + 1) for w in trace["path"])) if trace else sources
    )


def _sources(facts: Mapping[str, Any]) -> RenderableType:
    rows = []
    for number, source in enumerate(facts["sources"]):
        effects = [sentence["effects"][number] for sentence in facts["sentences"]]
        if effects[0] is None:
            continue
        strongest = max(effects)
        citing = [str(i + 1) for i, sentence in enumerate(facts["sentences"]) if number in sentence["cited"]]
        rows.append((bool(citing), strongest, number, [short(source["text"]), f"{strongest:.1f}", ", ".join(citing)]))
    ranked = sorted(rows, key=lambda row: (not row[0], -row[1], row[2]))
    most = max(MOST_SOURCES, sum(row[0] for row in rows))
    table = plain_table(
        columns("term.cite.source_columns"),
        [[str(number + 1), *cells] for _, _, number, cells in ranked[:most]],
        right=(0, 2),
    )
    hidden = len(facts["sources"]) - min(len(ranked), most)
    return Group(table, Text(say("term.cite.more", n=hidden), style="dim")) if hidden else table


def short(text: str, width: int = WIDTH) -> str:
    """Return one line of a text.

    >>> short("one\\ntwo three", 8)
    'one two…'
    """
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1].rstrip() + "…"
