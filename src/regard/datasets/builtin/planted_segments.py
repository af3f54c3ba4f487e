"""`planted_segments`: series with an exactly known decisive segment."""

from __future__ import annotations

import numpy as np

from regard.datasets.examples import Examples
from regard.datasets.generated import note
from regard.datasets.splits import checked
from regard.errors import InputError, phrase
from regard.measures.keyed_random import keyed_rng
from regard.records import Example, Floats, frozen
from regard.registry import method

NOISE = 0.15
NAMES = ("hill", "wave")


def shape(label: int, segment: int) -> Floats:
    """Return (segment,) a hill (0) or a full wave (1); both start and end near 0 and reach 1."""
    t = (np.arange(segment) + 0.5) / segment
    return np.asarray(np.sin(2 * np.pi * t) if label else np.sin(np.pi * t), np.float64)


@method("dataset", modality="series", licence="Apache-2.0", package="", real=False)
def planted_segments(
    *, split: str = "test", n: int = 400, seed: int = 0, steps: int = 64, segment: int = 8, channels: int = 1
) -> Examples:
    """Generated series (steps, channels): noise with a hill (0) or a wave (1) in one segment; rationale = its range.

    The stretch stands on the grid of segments, in the first channel; the other channels are noise.

    >>> one = planted_segments(n=1)[0]
    >>> start, end = one.rationale[0]
    >>> one.inputs["series"].shape, end - start
    ((64, 1), 8.0)
    """
    split = checked(split)
    if segment < 4 or steps % segment or channels < 1 or n < 1:
        expected = phrase("errors.datasets.and_channels_at_least_segment")
        problem = f"n={n}, steps={steps}, segment={segment}, channels={channels}"
        raise InputError("planted_segments", expected=expected, got=problem)
    rng = keyed_rng(seed, "planted_segments", split, steps, segment, channels)
    items = []
    for i in range(n):
        label = i % 2
        series = rng.normal(0, NOISE, (steps, channels))
        start = segment * int(rng.integers(steps // segment))
        series[start : start + segment, 0] += shape(label, segment)
        place = (float(start), float(start + segment))
        items.append(Example(f"{split}-{i:05d}", {"series": frozen(series)}, label, (place,)))
    provenance = note("series", n, split=split, seed=seed, known="stretch")
    names = tuple(f"channel {c}" for c in range(channels))
    return Examples("planted_segments", tuple(items), NAMES, (provenance,), columns=names, modality="series")
