"""Packet loss."""

from __future__ import annotations

import numpy as np

from regard.measures.keyed_random import Stream
from regard.perturbations.signal import holes, opened
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(modality="audio", family="loss", scale="5, 10, 20, 30, 45 % of the time silent")
def audio_dropout(example: Example, severity: int, rng: Stream, *, width: float = 0.02) -> Perturbed:
    """Insert gaps of silence, in all channels at once.

    width: length of a gap as a share of the sound.
    """
    signal = opened(example)
    steps = len(signal.x)
    gaps = holes(rng.shares(steps), (0.05, 0.1, 0.2, 0.3, 0.45)[severity - 1], max(1, round(width * steps)))
    return signal.with_values(np.where(gaps[:, None], 0.0, signal.x))
