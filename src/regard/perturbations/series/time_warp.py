"""Time warping."""

from __future__ import annotations

import numpy as np

from regard.measures.keyed_random import Stream
from regard.perturbations.signal import opened, smooth
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(
    modality="series",
    family="time",
    scale="speed changes by up to 5, 10, 20, 30, 45 %",
    cite="Um et al. 2017",
    misleads="it compares equal positions although the content has moved slightly",
)
def time_warp(example: Example, severity: int, rng: Stream, *, points: int = 6) -> Perturbed:
    """Speed up and slow down time along the series; the first and last steps stay.

    points: how often the speed changes. Between steps values are interpolated.
    """
    signal = opened(example)
    steps = len(signal.x)
    size = (0.05, 0.1, 0.2, 0.3, 0.45)[severity - 1]
    speed = np.maximum(0.1, 1 + size * smooth(2 * rng.shares(max(2, points), 1) - 1, steps)[:, 0])
    at = np.concatenate([[0.0], np.cumsum((speed[1:] + speed[:-1]) / 2)])
    at = at / max(at[-1], 1e-12) * (steps - 1)
    columns = [np.interp(at, np.arange(steps), column) for column in signal.x.T]
    return signal.with_values(np.stack(columns, axis=1))
