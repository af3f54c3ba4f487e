"""Trust per example in words: the effect of removing the marked units, compared with random units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regard.audits.conclusions.example_trust import TrustOfExample
from regard.audits.removal_mark import RemovalMark
from regard.present.messages.messages import render
from regard.present.unit_names import distinct_names
from regard.records import Json, Message

SIGNS = {"right": "✓", "partly": "~", "wrong": "✗", "undefined": "?"}
"""Marks, distinguished by shape and text, not by colour alone."""


def points(value: float) -> int:
    """Format a probability in points.

    >>> points(0.307), points(-0.004)
    (31, 0)
    """
    return round(100 * value)


def trust_line(row: TrustOfExample, example: Mapping[str, Any]) -> str:
    """The mark of an example, and the numbers behind it."""
    numbers: dict[str, Json] = {"marked": points(row.marked), "chance": points(row.chance), "best": points(row.best)}
    return f"{SIGNS[row.mark]} {render(Message.of(f'trust.{row.mark}', **numbers, **unit_noun(example['units'])))}"


def mark_line(mark: RemovalMark | None, units: Mapping[str, Any]) -> str:
    """The mark of one explanation, and the numbers behind it."""
    if mark is None:
        return f"{SIGNS['undefined']} {render(Message('mark.too_short'))}"
    kind = "matters" if mark.matters else "doubtful"
    every = distinct_names(units["names"])
    names = [every[unit] for unit in mark.units]
    numbers: dict[str, Json] = {"marked": points(mark.marked), "chance": points(mark.chance), "names": ", ".join(names)}
    sign = SIGNS["right" if mark.matters else "wrong"]
    return f"{sign} {render(Message.of(f'mark.{kind}', **numbers, **unit_noun(units)))}"


def mark_json(mark: RemovalMark | None, units: Mapping[str, Any]) -> dict[str, Json] | None:
    """The mark as numbers; null if too few units can be removed."""
    if mark is None:
        return None
    return {
        "matters": mark.matters,
        "marked": mark.marked,
        "random": mark.chance,
        "units": list(mark.units),
        "text": mark_line(mark, units),
    }


def unit_noun(units: Mapping[str, Any]) -> dict[str, Json]:
    """Noun for a unit that is not a word.

    >>> unit_noun({"place_kind": "span", "kind": "word", "names": ["[CLS]", "好", "看", "。"]})
    {'unit': 'character'}
    >>> unit_noun({"place_kind": "span", "kind": "word", "names": ["好看", "！"]})
    {}
    """
    if units["place_kind"] != "span":
        return {"unit": str(units["kind"])}
    chinese = [str(name) for name in units["names"] if any("\u4e00" <= char <= "\u9fff" for char in str(name))]
    return {"unit": "character"} if chinese and all(len(name) == 1 for name in chinese) else {}
