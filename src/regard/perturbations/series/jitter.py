"""Sensor jitter."""

from __future__ import annotations

from regard.measures.keyed_random import Stream
from regard.perturbations.signal import opened
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(
    modality="series",
    family="noise",
    scale="deviation 0.05, 0.1, 0.2, 0.35, 0.5 of each channel's own",
    cite="Um et al. 2017",
)
def jitter(example: Example, severity: int, rng: Stream) -> Perturbed:
    """Add Gaussian noise to every step, scaled by the channel's spread in this series."""
    signal = opened(example)
    size = (0.05, 0.1, 0.2, 0.35, 0.5)[severity - 1]
    return signal.with_values(signal.x + size * signal.spread * rng.normals(*signal.x.shape))
