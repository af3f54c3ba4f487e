"""Fate of the verdicts on other data: in a sentence, and as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from regard.present.messages.messages import known, render, say
from regard.present.terminal.terminal import plain_table
from regard.present.verdict_words import headline, question

_STYLES = {"survives": "green", "falls": "red", "open there": "yellow"}


def in_a_line(attention: Mapping[str, Any], data: list[str]) -> str:
    """The reading on both, and how many verdicts survive."""
    here, elsewhere = (
        headline({"reading": attention[side], "classes": attention["classes"][k]})
        for k, side in enumerate(("here", "there"))
    )
    fates = [row["fate"] for row in attention["questions"]]
    settled = [f for f in fates if f in ("survives", "falls", "open there")]
    counted = say(
        "shift.counted",
        survive=fates.count("survives"),
        settled=len(settled),
        data=data[0],
        fall=fates.count("falls"),
        open=fates.count("open there"),
    )
    key = "shift.same" if attention["fate"] == "survives" else "shift.other"
    return say(key, here_data=data[0], there_data=data[1], here=here, there=elsewhere, counted=counted)


def accuracy_line(shift: Mapping[str, Any]) -> str:
    """State the accuracy on both data sets; "" if it is unknown."""
    known_ones = [(name, a) for name, a in zip(shift["data"], shift["accuracy"], strict=True) if a is not None]
    if len(known_ones) < len(shift["data"]):
        return ""
    parts = [say("shift.part", share=f"{a:.0%}", name=name) for name, a in known_ones]
    return say("shift.right", parts=say("shift.and").join(parts))


def head(data: list[str]) -> tuple[str, ...]:
    return say("reading.question"), *data, say("shift.fate")


def rows(attention: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """Build rows of question, answer here, answer there, fate; skip those that are open on both sides."""
    return [
        (question(r), _answer(r["here"]), _answer(r["there"]), r["fate"])
        for r in attention["questions"]
        if r["fate"] != "open"
    ]


def fate(name: str) -> str:
    return say(f"fate.{name.replace(' ', '_')}")


def _answer(name: str) -> str:
    return say(f"answer.{name}") if known(f"answer.{name}") else name


def shift_table(shift: Mapping[str, Any]) -> RenderableType:
    """Build a sentence for each attention, and the questions answered on either side."""
    parts: list[RenderableType] = [
        Text(say("shift.headline", here=shift["data"][0], there=shift["data"][1]), style="bold")
    ]
    if accuracy_line(shift):
        parts.append(Text(accuracy_line(shift)))
    for attention in shift["attentions"]:
        parts.append(Text(in_a_line(attention, shift["data"])))
        if len(shift["attentions"]) > 1:
            parts.append(Text(render(attention["attention"]), style="dim"))
        lines = [(q, h, t, Text(fate(f), style=_STYLES.get(f, "dim"))) for q, h, t, f in rows(attention)]
        parts += [Text(""), plain_table(head(shift["data"]), lines), Text("")]
    if not shift["attentions"]:
        parts.append(Text(say("shift.none")))
    return Group(*parts)
