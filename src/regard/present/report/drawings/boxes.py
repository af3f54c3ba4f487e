"""A picture as small squares, with coloured boxes over it. No bitmap: it stays sharp and needs no decoder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from regard.present.messages.messages import say
from regard.present.palette import LEVELS, level, side
from regard.present.report.markup import Attributes, Html, tag
from regard.records import Floats

MOST_PIXELS = 48
"""Longest side that is drawn; larger pictures are averaged down for the report."""


def boxes(example: Mapping[str, Any], values: Floats, signed: bool) -> Html:
    """The picture in grey with one translucent box per unit."""
    units = example["units"]
    places = np.asarray(units["places"], np.float64)
    grey = _grey(example["inputs"].get("image"))
    height, width = grey.shape if grey is not None else (float(places[:, 2].max()), float(places[:, 3].max()))
    largest = float(np.max(np.abs(values), initial=0.0))
    over = []
    for (top, left, bottom, right), value, special in zip(places, values, units["special"], strict=True):
        strength = level(value, largest)
        if special or not strength:
            continue
        shape = {"x": left, "y": top, "width": right - left, "height": bottom - top}
        fill: Attributes = {"class": f"f{side(value, signed=signed)}", "fill-opacity": 0.85 * strength / LEVELS}
        over.append(tag("rect", {**shape, **fill}, tag("title", None, f"{value:+.3g}")))
    names = say("worked_examples.picture", height=f"{height:g}", width=f"{width:g}", n=len(over))
    frame = {"viewBox": f"0 0 {width:g} {height:g}", "class": "picture", "role": "img", "aria-label": names}
    return tag("svg", frame, _pixels(grey) if grey is not None else None, over)


def _grey(image: ArrayLike | None) -> Floats | None:
    """(height, width) on 0..1, whichever axis the channels are on."""
    if image is None:
        return None
    array = np.asarray(image, np.float64)
    if array.ndim == 3:
        array = array.mean(axis=0 if array.shape[0] <= 4 else 2)
    if array.ndim != 2:
        return None
    low, high = float(array.min()), float(array.max())
    return (array - low) / ((high - low) or 1.0)


def _pixels(grey: Floats) -> list[Html]:
    step = -(-max(grey.shape) // MOST_PIXELS)
    rows = []
    for y in range(0, grey.shape[0], step):
        for x in range(0, grey.shape[1], step):
            block = grey[y : y + step, x : x + step]
            shade = round(255 * (1 - float(block.mean())))
            # a hair of overlap hides the seams that anti-aliasing leaves between neighbours
            size = {"x": x, "y": y, "width": block.shape[1] + 0.02, "height": block.shape[0] + 0.02}
            rows.append(tag("rect", {**size, "fill": f"#{shade:02x}{shade:02x}{shade:02x}"}))
    return rows
