"""A picture in a terminal with colours, two pixels per character, with relevance over it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from rich.style import Style
from rich.text import Text

from regard.present.palette import AMOUNT, LEVELS, MINUS, PLUS, Colour, level, mixed, side
from regard.present.png import shown_pixels

COLUMNS = 48
"""Maximum characters of the longer side of a picture."""
_COLOURS = {"p": PLUS, "m": MINUS, "a": AMOUNT}
_OPACITY = 0.8
EDGE: Colour = (255, 255, 255)
"""Outline of a detected object."""


def picture_overlay(example: Mapping[str, Any], values: ArrayLike, *, signed: bool) -> Text | None:
    """Draw the picture in grey, each patch tinted by its value; None if the pixels are not available."""
    grey = shown_pixels(example["inputs"].get("image"), COLUMNS, grey=True)
    if grey is None:
        return None
    image = np.asarray(example["inputs"]["image"])
    whole = image.shape[1:] if image.ndim == 3 and image.shape[0] <= 4 < image.shape[2] else image.shape[:2]
    pixels = _tinted(grey[:, :, 0], (whole[0], whole[1]), example["units"], np.asarray(values, np.float64), signed)
    _outline(pixels, example["inputs"].get("object_box"), (whole[0], whole[1]))
    out = Text()
    for y in range(0, len(pixels), 2):
        lower = pixels[y + 1] if y + 1 < len(pixels) else [None] * len(pixels[y])
        for above, below in zip(pixels[y], lower, strict=True):
            ground = "" if below is None else f" on rgb({below[0]},{below[1]},{below[2]})"
            out.append("▀", Style.parse(f"rgb({above[0]},{above[1]},{above[2]}){ground}"))
        out.append("\n")
    return out


def _outline(pixels: list[list[Colour]], box: Any, whole: tuple[int, int]) -> None:
    """Draw the outline of a detected object into the pixels; nothing if the example is not an object."""
    if not isinstance(box, list) or len(box) != 4:
        return
    height, width = len(pixels), len(pixels[0])
    top, bottom = (min(max(round(float(edge) * height / whole[0]), 0), height) for edge in (box[0], box[2]))
    left, right = (min(max(round(float(edge) * width / whole[1]), 0), width) for edge in (box[1], box[3]))
    for y in range(top, bottom):
        for x in range(left, right):
            if y in (top, bottom - 1) or x in (left, right - 1):
                pixels[y][x] = EDGE


def _tinted(
    grey: Any, whole: tuple[int, int], units: Mapping[str, Any], values: Any, signed: bool
) -> list[list[Colour]]:
    """Rows of colours: the grey of each pixel, mixed with the colour of its patch."""
    height, width = grey.shape
    tint: dict[tuple[int, int], tuple[Colour, float]] = {}
    largest = float(np.max(np.abs(values), initial=0.0))
    for place, value, special in zip(units["places"], values, units["special"], strict=True):
        strength = level(value, largest)
        if special or not strength:
            continue
        top, bottom = (round(float(edge) * height / whole[0]) for edge in (place[0], place[2]))
        left, right = (round(float(edge) * width / whole[1]) for edge in (place[1], place[3]))
        colour = (_COLOURS[side(value, signed=signed)], _OPACITY * strength / LEVELS)
        tint |= {(y, x): colour for y in range(top, bottom) for x in range(left, right)}
    rows: list[list[Colour]] = []
    for y in range(height):
        row: list[Colour] = []
        for x in range(width):
            shade = int(grey[y, x])
            ground = (shade, shade, shade)
            row.append(mixed(*tint[y, x], ground) if (y, x) in tint else ground)
        rows.append(row)
    return rows
