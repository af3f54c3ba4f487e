"""A table row as bars, strongest column first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from regard.present.messages.messages import say
from regard.present.palette import side
from regard.present.report.markup import Attributes, Html, tag
from regard.records import Floats

MOST_BARS = 12
WIDTH, STEP, MIDDLE, REACH = 480, 18, 350, 128
"""Room left of a two-sided bar, for the longest name with its number."""


def columns(example: Mapping[str, Any], values: Floats, signed: bool) -> Html:
    """Draw a horizontal bar per column, left of the axis if it opposes the answer."""
    units = example["units"]
    numbers = np.asarray(example["inputs"].get("row", ()), np.float64).ravel()
    row = [*(_number(float(value)) for value in numbers), *map(str, example["inputs"].get("categories", ()))]
    free = [i for i in range(len(values)) if not units["special"][i]]
    shown = sorted((i for i in free if values[i]), key=lambda i: -abs(values[i]))[:MOST_BARS]
    largest = max((abs(float(values[i])) for i in shown), default=0.0) or 1.0
    origin, reach = (MIDDLE, REACH) if signed else (MIDDLE - REACH, 2 * REACH)
    bars = []
    for line, i in enumerate(shown):
        length = reach * abs(float(values[i])) / largest
        place = int(units["places"][i][0])
        value_text = f" = {_short(row[place])}" if place < len(row) else ""
        y = line * STEP
        bars.append(
            tag(
                "text",
                {"x": origin - (reach if signed else 0) - 8, "y": y + 13, "class": "end"},
                f"{_short(units['names'][i])}{value_text}",
            )
        )
        x = origin - length if signed and values[i] < 0 else origin
        shape = {"x": x, "y": y + 3, "width": length, "height": STEP - 6}
        fill: Attributes = {"class": f"f{side(float(values[i]), signed=signed)}", "fill-opacity": 0.8}
        bars.append(tag("rect", {**shape, **fill}, tag("title", None, f"{values[i]:+.3g}")))
    height = max(1, len(shown)) * STEP
    bars.append(tag("line", {"x1": origin, "x2": origin, "y1": 0, "y2": height, "class": "axis"}))
    weaker = sum(bool(values[i]) for i in free) - len(shown)
    more = say("worked_examples.columns_more", n=weaker) if weaker > 0 else ""
    label = say("worked_examples.columns", n=len(shown)) + more
    frame = {"viewBox": f"0 0 {WIDTH} {height}", "class": "bars", "role": "img", "aria-label": label}
    return tag(
        "figure",
        {"class": "plain"},
        tag("svg", frame, bars),
        tag("figcaption", None, say("worked_examples.strongest_of", shown=len(shown), n=len(free))) if more else None,
    )


def _number(value: float) -> str:
    """Three digits, and whole numbers in full below a million.

    >>> _number(54912.3), _number(0.03141), _number(3e9)
    ('54912', '0.0314', '3e+09')
    """
    return f"{value:.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.3g}"


def _short(name: str) -> str:
    return name if len(name) <= 22 else name[:21] + "…"
