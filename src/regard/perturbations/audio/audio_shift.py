"""Time shift."""

from __future__ import annotations

import numpy as np

from regard.measures.keyed_random import Stream
from regard.perturbations.signal import opened
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(
    modality="audio",
    family="time",
    scale="0.5, 1, 2, 4, 8 % of the length, earlier or later",
    misleads="it compares equal positions although the content has moved: do not use it for maps over time",
)
def audio_shift(example: Example, severity: int, rng: Stream) -> Perturbed:
    """Shift the sound earlier or later, with silence in the gap."""
    signal = opened(example)
    steps = len(signal.x)
    by = max(1, round((0.005, 0.01, 0.02, 0.04, 0.08)[severity - 1] * steps))
    x = np.zeros_like(signal.x)
    if rng.below(2):
        x[by:] = signal.x[: steps - by]
    else:
        x[: steps - by] = signal.x[by:]
    return signal.with_values(x)
