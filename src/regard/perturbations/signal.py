"""Sound or series to perturb: (steps, channels), and the conversion back to the user's layout."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regard.errors import InputError, phrase
from regard.records import Example, Floats, Perturbed

MOST_CHANNELS = 8
"""Maximum channels of a sound array (channels, samples)."""


@dataclass(frozen=True, slots=True)
class Signal:
    """Sound or series to perturb. x: (steps, channels). entry: its name in the inputs."""

    example: Example
    x: Floats
    entry: str
    shape: tuple[int, ...]
    turned: bool
    dtype: np.dtype[Any]

    @property
    def spread(self) -> Floats:
        """Return (channels,) the standard deviation of each channel in this example; 1 for a constant channel."""
        spreads = self.x.std(axis=0)
        return np.where(spreads > 0, spreads, 1.0)

    def with_values(self, x: Floats) -> Perturbed:
        """Return the example with other values, in the user's own layout and units."""
        values = (x.T if self.turned else x).reshape(self.shape)
        if np.issubdtype(self.dtype, np.integer):
            limits = np.iinfo(self.dtype)
            values = np.clip(np.rint(values), limits.min, limits.max)
        inputs = {**self.example.inputs, self.entry: np.ascontiguousarray(values.astype(self.dtype))}
        return Perturbed(replace(self.example, inputs=inputs))


def opened(example: Example) -> Signal:
    """Read the sound (samples,), (samples, channels) or (channels, samples), or the series (steps, channels)."""
    entry = "audio" if "audio" in example.inputs else "series"
    values = np.asarray(example.inputs[entry])
    if values.ndim not in (1, 2) or not values.size:
        raise InputError(
            phrase("errors.common.example_example", example=repr(example.id)),
            expected=phrase("errors.perturbations.steps_or_steps_channels"),
            got=str(values.shape),
        )
    turned = entry == "audio" and values.ndim == 2 and values.shape[0] <= MOST_CHANNELS < values.shape[1]
    x = np.asarray(values.T if turned else values, np.float64).reshape(
        max(values.shape) if turned else values.shape[0], -1
    )
    dtype = values.dtype if values.dtype != np.bool_ else np.dtype(np.float64)
    return Signal(example, x, entry, values.shape, turned=turned, dtype=dtype)


def holes(lots: Floats, share: float, width: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return (steps,) True in gaps of about `width` steps that cover the share; lots: a random number per step."""
    steps = len(lots)
    gaps = np.zeros(steps, np.bool_)
    count = max(1, round(share * steps))
    for start in np.argsort(lots, kind="stable"):  # gaps where the lot falls first, until enough is gone
        left = count - int(gaps.sum())
        if left <= 0:
            break
        gaps[start : start + min(width, left)] = True
    return gaps


def smooth(points: Floats, steps: int) -> Floats:
    """Return (steps, channels) a smooth curve through equidistant (points, channels) (Catmull-Rom)."""
    count = len(points)
    wide = np.concatenate([2 * points[:1] - points[1:2], points, 2 * points[-1:] - points[-2:-1]])
    at = np.linspace(0, count - 1, steps)
    k = np.minimum(at.astype(int), count - 2)
    t = (at - k)[:, None]
    p0, p1, p2, p3 = (wide[k + j] for j in range(4))
    return np.asarray(
        0.5 * (2 * p1 + (p2 - p0) * t + (2 * p0 - 5 * p1 + 4 * p2 - p3) * t**2 + (3 * p1 - p0 - 3 * p2 + p3) * t**3)
    )
