"""Low-pass filter."""

from __future__ import annotations

import numpy as np

from regard.measures.keyed_random import Stream
from regard.perturbations.signal import opened
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(
    modality="audio", family="frequency", scale="frequencies above 50, 35, 25, 15, 8 % of the highest are gone"
)
def band_limit(example: Example, severity: int, rng: Stream) -> Perturbed:
    """Cut off high frequencies, with a slope of a tenth of the limit.

    The highest is half the sampling rate, whatever that is.
    """
    signal = opened(example)
    limit = (0.5, 0.35, 0.25, 0.15, 0.08)[severity - 1]
    waves = np.fft.rfft(signal.x, axis=0)
    at = np.linspace(0, 1, len(waves))
    gain = np.clip((limit * 1.1 - at) / (limit * 0.1), 0, 1)
    return signal.with_values(np.fft.irfft(waves * gain[:, None], n=len(signal.x), axis=0))
