"""Low resolution of values."""

from __future__ import annotations

import numpy as np

from regard.measures.keyed_random import Stream
from regard.perturbations.signal import opened
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(
    modality="series", family="digital", scale="64, 32, 16, 8, 4 levels between the smallest and the largest value"
)
def quantisation(example: Example, severity: int, rng: Stream) -> Perturbed:
    """Round every channel to a few levels between its minimum and maximum."""
    signal = opened(example)
    steps = (64, 32, 16, 8, 4)[severity - 1] - 1
    low, high = signal.x.min(axis=0), signal.x.max(axis=0)
    width = np.where(high > low, (high - low) / steps, 1.0)
    return signal.with_values(low + np.rint((signal.x - low) / width) * width)
