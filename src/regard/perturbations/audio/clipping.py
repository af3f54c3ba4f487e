"""Clipping of loud samples."""

from __future__ import annotations

import numpy as np

from regard.measures.keyed_random import Stream
from regard.perturbations.signal import opened
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(modality="audio", family="level", scale="cut at 80, 60, 40, 25, 12 % of the largest sample")
def clipping(example: Example, severity: int, rng: Stream) -> Perturbed:
    """Clip samples beyond a share of the largest one."""
    signal = opened(example)
    limit = float(np.abs(signal.x).max()) * (0.8, 0.6, 0.4, 0.25, 0.12)[severity - 1]
    return signal.with_values(np.clip(signal.x, -limit, limit))
