"""Alignments for a terminal: written words beside their source, and the accuracy of heads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from regard.present.alignment_words import rates, rule_sentence, where
from regard.present.messages.messages import columns, say
from regard.present.terminal.terminal import plain_table


def alignment_view(facts: Mapping[str, Any], *, most: int) -> RenderableType:
    """Return the first examples word by word, then the table of heads if links are known."""
    parts: list[RenderableType] = []
    for example in facts["examples"][:most]:
        sound = facts["modality"] == "audio"
        rows = [
            (word["word"], where(word, sound=sound), "" if word["weight"] is None else f"{word['weight']:.0%}")
            for word in example["words"]
        ]
        key = "align.read" if example["expected"] else "align.wrote"
        title = say(key, id=example["id"], text=example["written"])
        parts += [
            plain_table(columns("align.columns_time" if sound else "align.columns"), rows, right=(2,), title=title)
        ]
        parts.append(Text())
    more = len(facts["examples"]) - most
    if more > 0:
        parts.append(Text(say("align.more", n=more), style="dim"))
    parts.append(Text(rule_sentence(facts)))
    table = rates(facts)
    if table:
        parts.append(plain_table(columns("align.rates"), table, right=(1, 2)))
    return Group(*parts)
