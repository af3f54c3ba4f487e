"""Text with coloured units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from regard.present.palette import level, side
from regard.present.report.markup import Html, tag
from regard.records import Floats

TEXTS = ("text", "text_pair")


def spans(example: Mapping[str, Any], values: Floats, signed: bool) -> Html:
    """Build a paragraph per text; text between units stays uncoloured."""
    units, inputs = example["units"], example["inputs"]
    largest = float(np.max(np.abs(values), initial=0.0))
    paragraphs = []
    for part in sorted({int(p) for p in units["part"]}):
        whole = inputs.get(TEXTS[part]) if part < len(TEXTS) else None
        pieces, at = [], 0
        for i, name in enumerate(units["names"]):
            if units["part"][i] != part or units["special"][i]:
                continue
            start, stop = (int(x) for x in units["places"][i])
            if isinstance(whole, str) and start >= at and stop > start:
                pieces += [whole[at:start], _unit(whole[start:stop], values[i], largest, signed=signed)]
                at = stop
            else:  # a unit that is not a piece of the text: shown by its name
                pieces += [_unit(name, values[i], largest, signed=signed), " "]
        if isinstance(whole, str):
            pieces.append(whole[at:])
        paragraphs.append(tag("p", {"class": "text", "dir": "auto"}, pieces))
    return tag("div", None, paragraphs)


def _unit(shown: str, value: float, largest: float, *, signed: bool) -> Html:
    strength = level(value, largest)
    css = f"u {side(value, signed=signed)}{strength}" if strength else "u"
    number = f"{value:+.3g}" if signed else f"{value:.3g}"
    return tag("span", {"class": css, "title": f"{shown.strip()}: {number}"}, shown)
