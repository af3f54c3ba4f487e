"""What became of the verdicts on other data: in a sentence, and as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from regard.present.terminal import plain_table
from regard.present.verdict_words import headline

_STYLES = {"survives": "green", "falls": "red", "open there": "yellow"}
HEAD = ("question", "here", "there", "fate")


def in_a_line(attention: Mapping[str, Any], data: list[str]) -> str:
    """The reading on both, and how many verdicts survive."""
    here, there = (
        headline({"reading": attention[side], "classes": attention["classes"][k]})
        for k, side in enumerate(("here", "there"))
    )
    fates = [row["fate"] for row in attention["questions"]]
    settled = [f for f in fates if f in ("survives", "falls", "open there")]
    counted = f"{fates.count('survives')} of {len(settled)} verdicts that were established on {data[0]} survive"
    counted += f", {fates.count('falls')} fall, {fates.count('open there')} could not be established there."
    if attention["fate"] == "survives":
        return f"On {data[1]} the reading is the same: {there}. {counted}"
    return f"On {data[0]}: {here}. On {data[1]}: {there}. {counted}"


def accuracy_line(shift: Mapping[str, Any]) -> str:
    """How often the model is right on either; "" where that is not known."""
    known = [(name, a) for name, a in zip(shift["data"], shift["accuracy"], strict=True) if a is not None]
    if len(known) < len(shift["data"]):
        return ""
    return "The model is right in " + " and ".join(f"{a:.0%} of {name}" for name, a in known) + "."


def rows(attention: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    return [(r["question"], r["here"], r["there"], r["fate"]) for r in attention["questions"] if r["fate"] != "open"]


def shift_table(shift: Mapping[str, Any]) -> RenderableType:
    """For each attention: a sentence and the questions that were answered on either side."""
    parts: list[RenderableType] = [Text(f"SHIFT: {shift['data'][0]} -> {shift['data'][1]}", style="bold")]
    if accuracy_line(shift):
        parts.append(Text(accuracy_line(shift)))
    for attention in shift["attentions"]:
        parts.append(Text(in_a_line(attention, shift["data"])))
        if len(shift["attentions"]) > 1:
            parts.append(Text(attention["attention"], style="dim"))
        shown = [(q, h, t, Text(f, style=_STYLES.get(f, "dim"))) for q, h, t, f in rows(attention)]
        parts += [Text(""), plain_table((HEAD[0], *shift["data"], HEAD[3]), shown), Text("")]
    if not shift["attentions"]:
        parts.append(Text("No attention was judged on both."))
    return Group(*parts)
