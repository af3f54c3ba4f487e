"""The first level of an atlas for a terminal: answer sentences by passages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from regard.present.messages.messages import columns, say
from regard.present.terminal.terminal import plain_table

WIDTH = 30
"""Maximum characters of a sentence or passage."""
MOST_COLUMNS = 5
"""Maximum passages in 80 columns; beyond, each sentence names those with the largest masses."""
LARGEST = 3


def atlas_view(facts: Mapping[str, Any]) -> RenderableType:
    """Return the attention mass of every answer sentence on the passages, and the passages beside their length."""
    passages = range(len(facts["passages"]))
    listed: Sequence[int] = passages
    if len(passages) <= MOST_COLUMNS:
        masses = _matrix(facts)
    else:
        leading = [_largest(row) for row in facts["matrix"]]
        listed = sorted({passage for row in leading for passage in row})
        masses = _leaders(facts, leading)
    note = say("atlas.terminal_note", n=len(facts["tokens"]))
    return Group(masses, Text(), _passages(facts, listed), Text(note, style="dim"))


def _matrix(facts: Mapping[str, Any]) -> Table:
    head = [say("atlas.sentence"), *(f"[{i + 1}]" for i in range(len(facts["passages"]))), say("atlas.elsewhere")]
    rows = [
        [_short(sentence["text"]), *(f"{share:.1%}" for share in values)]
        for sentence, values in zip(facts["sentences"], facts["matrix"], strict=True)
    ]
    return plain_table(head, rows, title=say("atlas.matrix"), right=tuple(range(1, len(head))))


def _largest(masses: Sequence[float]) -> list[int]:
    """The passages with the largest masses; the last mass is that of everything else."""
    return sorted(range(len(masses) - 1), key=lambda passage: -masses[passage])[:LARGEST]


def _leaders(facts: Mapping[str, Any], leading: Sequence[Sequence[int]]) -> Table:
    head = [say("atlas.sentence"), say("atlas.largest"), say("atlas.elsewhere")]
    rows = [
        [
            _short(sentence["text"]),
            ", ".join(f"[{passage + 1}] {masses[passage]:.1%}" for passage in best),
            f"{masses[-1]:.1%}",
        ]
        for sentence, masses, best in zip(facts["sentences"], facts["matrix"], leading, strict=True)
    ]
    return plain_table(head, rows, title=say("atlas.matrix"), right=(2,))


def _passages(facts: Mapping[str, Any], listed: Sequence[int]) -> Table:
    rows = []
    for passage in listed:
        record = facts["passages"][passage]
        tokens = sum(stop - start for start, stop in record["runs"])
        rows.append([f"[{passage + 1}]", _short(record["text"]), f"{tokens / len(facts['tokens']):.1%}"])
    return plain_table(columns("atlas.passage_columns"), rows, right=(2,))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= WIDTH else line[: WIDTH - 1] + "…"
