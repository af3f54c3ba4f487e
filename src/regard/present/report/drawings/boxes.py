"""A picture with coloured boxes over it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from regard.present.messages.messages import say
from regard.present.palette import LEVELS, level, side
from regard.present.png import png_address, shown_pixels
from regard.present.report.markup import Attributes, Html, tag
from regard.records import Floats

MOST_PIXELS = 112
"""Longest side of the bitmap; larger pictures are averaged down for the report."""
PIXELATED = 32
"""Maximum side of pictures that are drawn with sharp pixels."""


def boxes(example: Mapping[str, Any], values: Floats, signed: bool) -> Html:
    """The picture in grey with one translucent box per unit."""
    units = example["units"]
    places = np.asarray(units["places"], np.float64)
    height, width = _size(example, places)
    largest = float(np.max(np.abs(values), initial=0.0))
    over = []
    for (top, left, bottom, right), value, special in zip(places, values, units["special"], strict=True):
        strength = level(value, largest)
        if special or not strength:
            continue
        shape = {"x": left, "y": top, "width": right - left, "height": bottom - top}
        fill: Attributes = {"class": f"f{side(value, signed=signed)}", "fill-opacity": 0.85 * strength / LEVELS}
        over.append(tag("rect", {**shape, **fill}, tag("title", None, f"{value:+.3g}")))
    count = len(over)
    over += _object_box(example)
    names = say("worked_examples.picture", height=f"{height:g}", width=f"{width:g}", n=count)
    return _frame(names, (height, width), [_bitmap(example, (height, width), grey=True), *over])


def _object_box(example: Mapping[str, Any]) -> list[Html]:
    """Outline of the object that a detector found; nothing if the example is not an object."""
    box = example["inputs"].get("object_box")
    if not isinstance(box, list) or len(box) != 4:
        return []
    top, left, bottom, right = (float(edge) for edge in box)
    shape = {"x": left, "y": top, "width": max(0.0, right - left), "height": max(0.0, bottom - top)}
    line: Attributes = {"fill": "none", "stroke": "currentColor", "stroke-width": 2}
    return [tag("rect", {**shape, **line, "class": "object-box", "vector-effect": "non-scaling-stroke"})]


def plain_picture(example: Mapping[str, Any]) -> Html | None:
    """The picture in its own colours; None if it was not stored."""
    places = np.asarray(example["units"]["places"], np.float64)
    bitmap = _bitmap(example, _size(example, places), grey=False)
    return (
        None if bitmap is None else _frame(str(example["id"]), _size(example, places), [bitmap, *_object_box(example)])
    )


def _frame(name: str, size: tuple[float, float], inside: list[Html | None]) -> Html:
    frame = {"viewBox": f"0 0 {size[1]:g} {size[0]:g}", "class": "picture", "role": "img", "aria-label": name}
    return tag("svg", frame, *(part for part in inside if part is not None))


def _size(example: Mapping[str, Any], places: Floats) -> tuple[float, float]:
    """Height and width in the user's pixels."""
    shape = np.shape(_stored(example))
    if len(shape) == 3:
        shape = shape[1:] if shape[0] <= 4 < shape[2] else shape[:2]
    return (shape[0], shape[1]) if len(shape) == 2 else (float(places[:, 2].max()), float(places[:, 3].max()))


def _stored(example: Mapping[str, Any]) -> Any:
    """The pixels; None if the run only has a reference to them."""
    image = example["inputs"].get("image")
    return None if isinstance(image, Mapping) else image


def _bitmap(example: Mapping[str, Any], size: tuple[float, float], *, grey: bool) -> Html | None:
    pixels = shown_pixels(_stored(example), MOST_PIXELS, grey=grey)
    if pixels is None:
        return None
    sharp: Attributes = {"image-rendering": "pixelated"} if max(size) <= PIXELATED else {}
    place: Attributes = {"width": size[1], "height": size[0], "preserveAspectRatio": "none"}
    return tag("image", {"href": png_address(pixels), **place, **sharp})
