"""Volume change."""

from __future__ import annotations

from regard.measures.keyed_random import Stream
from regard.perturbations.signal import opened
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(modality="audio", family="level", scale="3, 6, 9, 12, 18 dB louder or quieter")
def gain(example: Example, severity: int, rng: Stream, *, louder: bool | None = None) -> Perturbed:
    """Multiply every sample by one random factor, louder or quieter.

    louder: None draws, True and False decide.
    """
    signal = opened(example)
    up = rng.below(2) == 1 if louder is None else louder
    decibels = (3, 6, 9, 12, 18)[severity - 1]
    return signal.with_values(signal.x * 10 ** ((decibels if up else -decibels) / 20))
