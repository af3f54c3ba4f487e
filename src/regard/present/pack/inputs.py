"""Inputs of an example for a viewer: a title, pixels, a series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.present.pack.records import Picture, Series
from regard.records import Json, Units

LONGEST_SIDE = 512
USUAL_RATE = 16000
SPECTROGRAM = 16
"""Minimum channels of a series that is drawn as a map."""


def title_of(inputs: Mapping[str, Any], units: Units, name: str, most: int = 80) -> str:
    """Return the title of an example in a list."""
    text = inputs.get("text")
    if not isinstance(text, str):
        free = [str(n).strip() for n, s in zip(units.names, units.special, strict=True) if not s]
        text = " ".join(free) if units.place_kind == "span" and free else name
    return text if len(text) <= most else text[: most - 1] + "…"


def label_of(value: Json, labels: Sequence[str]) -> str:
    """Name of a class, if the value is a class index."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(labels):
        return str(labels[value])
    return str(value)


def picture_of(image: Any) -> tuple[Picture | None, NDArray[np.uint8] | None]:
    """(height, width, channels) bytes, whichever axis the channels are on; large ones are averaged down."""
    array = _array(image)
    if array is None or array.ndim not in (2, 3):
        return None, None
    if array.ndim == 2:
        array = array[:, :, None]
    elif array.shape[0] <= 4 < array.shape[2]:
        array = np.moveaxis(array, 0, 2)
    if array.shape[2] != 3:
        array = array[:, :, :3].mean(2, keepdims=True)
    step = -(-max(array.shape[:2]) // LONGEST_SIDE)
    if step > 1:
        rows, columns = (n // step * step for n in array.shape[:2])
        blocks = array[:rows, :columns].reshape(rows // step, step, columns // step, step, -1)
        array = blocks.mean((1, 3))
    low, high = float(array.min()), float(array.max())
    if array.dtype == np.uint8:
        low, high = 0.0, 255.0
    pixels = np.rint(255.0 * (array - low) / ((high - low) or 1.0)).astype(np.uint8)
    height, width, channels = pixels.shape
    return Picture(height, width, channels, 1.0 / step), np.ascontiguousarray(pixels)


def outlines_of(inputs: Mapping[str, Any]) -> list[list[float]]:
    """Box of the object that an example is about, at the index of its query; [] for other examples.

    >>> outlines_of({"object": [1, 0], "object_box": [0.0, 2.0, 4.0, 6.0]})
    [[], [0.0, 2.0, 4.0, 6.0]]
    """
    target, box = inputs.get("object"), inputs.get("object_box")
    if not isinstance(target, list) or not isinstance(box, list):
        return []
    return [*([] for _ in range(int(target[0]))), [float(edge) for edge in box]]


def series_of(series: Any) -> tuple[Series | None, NDArray[np.float32] | None]:
    """(steps, channels) float32."""
    array = _array(series)
    if array is None or array.ndim not in (1, 2):
        return None, None
    numbers = np.nan_to_num(array.astype("<f4").reshape(len(array), -1))
    steps, channels = numbers.shape
    names = [f"channel {i}" for i in range(channels)]
    return Series(steps, channels, channels >= SPECTROGRAM, names=names, rate=0), numbers


def sound_of(sound: Any, rate: Any) -> tuple[Series | None, NDArray[np.float32] | None]:
    """Return (samples, 1) float32 of a sound; assume 16 kHz if it names no rate."""
    array = _array(sound)
    if array is None or array.ndim != 1:
        return None, None
    numbers = np.nan_to_num(array.astype("<f4").reshape(-1, 1))
    per_second = int(rate) if isinstance(rate, int | float) and rate >= 1 else USUAL_RATE
    return Series(len(numbers), 1, as_spectrogram=False, names=["sound"], rate=per_second), numbers


def _array(given: Any) -> NDArray[Any] | None:
    """Return an array; None for a missing one, and for an unresolved reference to a large array."""
    if given is None or isinstance(given, Mapping):
        return None
    array = np.asarray(given)
    return array if array.size and array.dtype.kind in "fiub" else None
