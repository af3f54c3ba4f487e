"""White or pink noise."""

from __future__ import annotations

from typing import Literal

import numpy as np

from regard.measures.keyed_random import Stream
from regard.perturbations.signal import opened
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(modality="audio", family="noise", scale="20, 15, 10, 5, 0 dB of signal over noise")
def audio_noise(
    example: Example, severity: int, rng: Stream, *, colour: Literal["white", "pink"] = "white"
) -> Perturbed:
    """Add white or pink noise at a given signal-to-noise ratio, measured over all channels.

    colour: "white" (all frequencies alike) or "pink" (power falls with the frequency, as in rooms and tapes).
    A silent sound stays silent.
    """
    signal = opened(example)
    noise = rng.normals(*signal.x.shape)
    if colour == "pink":
        waves = np.fft.rfft(noise, axis=0)
        waves /= np.sqrt(np.maximum(np.arange(len(waves)), 1))[:, None]
        noise = np.fft.irfft(waves, n=len(noise), axis=0)
    power = float(np.mean(signal.x**2))
    noise_power = power / 10 ** ((20, 15, 10, 5, 0)[severity - 1] / 10)
    return signal.with_values(signal.x + noise * np.sqrt(noise_power / max(float(np.mean(noise**2)), 1e-30)))
