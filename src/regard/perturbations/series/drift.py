"""Sensor drift."""

from __future__ import annotations

import numpy as np

from regard.measures.keyed_random import Stream
from regard.perturbations.signal import opened, smooth
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(modality="series", family="level", scale="up to 0.1, 0.2, 0.4, 0.6, 1 of each channel's own deviation")
def drift(example: Example, severity: int, rng: Stream, *, points: int = 5) -> Perturbed:
    """Add a slow curve to every channel, 0 at the start, with one maximum on the way.

    points: through how many points the curve is drawn.
    """
    signal = opened(example)
    steps, channels = signal.x.shape
    walk = np.cumsum(rng.normals(points, channels), axis=0)
    curve = smooth(walk - walk[:1], steps)
    curve = curve / np.maximum(np.abs(curve).max(axis=0), 1e-12)
    return signal.with_values(signal.x + (0.1, 0.2, 0.4, 0.6, 1.0)[severity - 1] * signal.spread * curve)
