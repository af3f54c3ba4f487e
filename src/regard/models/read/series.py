"""Time series: units are time steps, or patches of steps where the model reads patches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from regard.errors import InputError, Text, phrase
from regard.models.read.regions import Array, ArrayReader, with_class_tokens
from regard.records import Bools, Ints, Units


def mean(series: Array, gone: Bools, rng: np.random.Generator) -> Array:
    """The mean of each channel over time."""
    return np.broadcast_to(series.mean(axis=0, keepdims=True), series.shape)


def interpolate(series: Array, gone: Bools, rng: np.random.Generator) -> Array:
    """A straight line between the nearest steps that stay; the mean where none stay."""
    out = np.array(mean(series, gone, rng))
    steps = np.arange(len(series))
    for channel in range(series.shape[1]):
        stays = ~gone[:, channel]
        if stays.any():
            out[:, channel] = np.interp(steps, steps[stays], series[stays, channel])
    return out


def resample(series: Array, gone: Bools, rng: np.random.Generator) -> Array:
    """Steps drawn from anywhere in the series, all channels of a step together."""
    return series[rng.integers(len(series), size=len(series))]


USUAL_STEPS = 64
"""Steps of a trial input, if the model takes any number."""
FILLS = {"mean": mean, "interpolate": interpolate, "resample": resample}


def as_steps(series: Any, channels: int | None, subject: Text) -> Array:
    """(steps, channels) of a series (steps,) or (steps, channels)."""
    array = np.asarray(series, dtype=np.float32)
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or (channels is not None and array.shape[1] != channels):
        shape = f"(steps, {channels})" if channels is not None else "(steps, channels)"
        raise InputError(subject, expected=phrase("errors.models.series_shape", shape=shape), got=str(np.shape(series)))
    return np.ascontiguousarray(array)


def steps(array: Array, patch: int, lead: int, first: int = 0) -> tuple[Units, Ints]:
    """Units and owners of a series (steps, channels); patches of `patch` steps begin at step `first`."""
    count = (len(array) - first) // patch
    begin = first + patch * np.arange(count)
    places = np.stack([begin, begin + patch], axis=1).astype(np.float64)
    names = [f"t{b}" if patch == 1 else f"t{b}-{b + patch - 1}" for b in begin]
    units = with_class_tokens(
        names, places, "step" if patch == 1 else "patch", place_kind="range", shape=(count,), lead=lead
    )
    at = (np.arange(len(array)) - first) // patch
    owner = np.where((at >= 0) & (at < count), at + max(lead, 0), -1)
    return units, np.broadcast_to(owner[:, None], array.shape).astype(np.int64)


def by_channel(array: Array, names: Sequence[str]) -> tuple[Units, Ints]:
    """Units and owners of a series (steps, channels) whose units are its channels, over which there is no attention."""
    count = array.shape[1]
    titles = names if len(names) == count else [f"channel {c}" for c in range(count)]
    places = np.arange(count, dtype=np.float64)[:, None]
    units = with_class_tokens(titles, places, "channel", place_kind="column", shape=(count,), lead=-1)
    return units, np.broadcast_to(np.arange(count), array.shape).astype(np.int64)


def series_reader(
    main: str,
    channels: int | None,
    *,
    patch: int = 1,
    lead: int = 1,
    length: int | None = None,
    channel_units: Sequence[str] | None = None,
) -> ArrayReader:
    """Build a reader of series; `length` is the only number of steps the model takes (None: any).

    channel_units: names of the channels where these are the units, not the steps; () names them by number.
    """

    def prepare(given: Any, subject: Text) -> Array:
        array = as_steps(given, channels, subject)
        if length is not None and len(array) != length:
            raise InputError(
                subject,
                expected=phrase("errors.models.steps_length", length=length),
                got=phrase("errors.models.steps_length", length=len(array)),
                remedy=phrase("errors.models.cut_or_pad_series_length"),
            )
        return array

    def lay_out(array: Array, given: Any) -> tuple[Units, Ints]:
        if channel_units is not None:
            return by_channel(array, channel_units)
        return steps(array, patch, lead, len(array) % patch)

    return ArrayReader(
        modality="series",
        main=main,
        entry="series",
        prepare=prepare,
        lay_out=lay_out,
        fills=FILLS,
        trial=(length or USUAL_STEPS, channels or 1),
    )
