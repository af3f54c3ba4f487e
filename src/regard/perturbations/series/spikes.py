"""Outlier values."""

from __future__ import annotations

import numpy as np

from regard.measures.keyed_random import Stream
from regard.perturbations.signal import opened
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(modality="series", family="noise", scale="0.5, 1, 2, 4, 8 % of the values, at least one")
def spikes(example: Example, severity: int, rng: Stream, *, size: float = 4.0) -> Perturbed:
    """Shift single values by `size` standard deviations of their channel, up or down."""
    signal = opened(example)
    count = max(1, round((0.005, 0.01, 0.02, 0.04, 0.08)[severity - 1] * signal.x.size))
    order = np.argsort(rng.shares(signal.x.size), kind="stable")[:count]
    signs = np.where(rng.shares(count) < 0.5, -1.0, 1.0)
    thrown = np.zeros(signal.x.size)
    thrown[order] = signs * size
    return signal.with_values(signal.x + thrown.reshape(signal.x.shape) * signal.spread)
