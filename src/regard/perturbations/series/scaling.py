"""Sensor gain."""

from __future__ import annotations

import numpy as np

from regard.measures.keyed_random import Stream
from regard.perturbations.signal import opened
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(
    modality="series",
    family="level",
    scale="each channel by a factor of deviation 0.05, 0.1, 0.2, 0.3, 0.5",
    cite="Um et al. 2017",
)
def scaling(example: Example, severity: int, rng: Stream) -> Perturbed:
    """Multiply every channel by its own random factor around 1 (at least 0.1)."""
    signal = opened(example)
    size = (0.05, 0.1, 0.2, 0.3, 0.5)[severity - 1]
    factors = np.maximum(0.1, 1 + size * rng.normals(signal.x.shape[1]))
    return signal.with_values(signal.x * factors)
