"""A series as lines, with coloured bands behind the time ranges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from regard.present.messages.messages import say
from regard.present.palette import LEVELS, level, side
from regard.present.report.markup import Attributes, Html, tag
from regard.records import Floats

WIDTH, HEIGHT = 480, 90


def ranges(example: Mapping[str, Any], values: Floats, signed: bool) -> Html:
    """Draw one line per channel over bands coloured by the relevance of that time range."""
    units = example["units"]
    places = np.asarray(units["places"], np.float64)
    series, sound = _numbers(example["inputs"])
    reach = float(places[:, 1].max(initial=1.0))
    end = reach if sound else max(reach, float(len(series)))  # places of a sound are samples at the model's rate
    largest = float(np.max(np.abs(values), initial=0.0))
    bands = []
    for (start, stop), value, special in zip(places, values, units["special"], strict=True):
        strength = level(value, largest)
        if special or not strength:
            continue
        shape = {"x": WIDTH * start / end, "width": WIDTH * (stop - start) / end, "y": 0, "height": HEIGHT}
        fill: Attributes = {"class": f"f{side(value, signed=signed)}", "fill-opacity": 0.75 * strength / LEVELS}
        words = say("worked_examples.place", start=f"{start:g}", stop=f"{stop:g}", value=f"{value:+.3g}")
        bands.append(tag("rect", {**shape, **fill}, tag("title", None, words)))
    label = say("worked_examples.series", steps=len(series), channels=series.shape[1])
    frame = {"viewBox": f"0 0 {WIDTH} {HEIGHT}", "class": "series", "role": "img", "aria-label": label}
    return tag(
        "svg", frame, bands, [_line(series[:, c], len(series) if sound else end) for c in range(series.shape[1])]
    )


def _numbers(inputs: Mapping[str, Any]) -> tuple[Floats, bool]:
    """(steps, channels) of a series or a sound, and whether it is a sound; none if the numbers were not stored."""
    for name in ("series", "audio"):
        given = inputs.get(name)
        if given is not None and not isinstance(given, Mapping):
            array = np.asarray(given, np.float64)
            return (array[:, None] if array.ndim == 1 else array), name == "audio"
    return np.zeros((0, 1)), False


def _line(channel: Floats, end: float) -> Html:
    low, high = float(channel.min(initial=0.0)), float(channel.max(initial=0.0))
    at = np.arange(len(channel))
    if len(channel) > 4 * WIDTH:  # of a sound, the lowest and the highest of each pixel
        parts = np.array_split(at, WIDTH)
        at = np.array([i for p in parts for i in sorted((p[channel[p].argmin()], p[channel[p].argmax()]))])
    y = HEIGHT - 6 - (HEIGHT - 12) * (channel[at] - low) / ((high - low) or 1.0)
    x = WIDTH * (at + 0.5) / end
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    return tag("polyline", {"points": points, "class": "ink"})
