"""Missing steps."""

from __future__ import annotations

from typing import Literal

import numpy as np

from regard.measures.keyed_random import Stream
from regard.perturbations.signal import holes, opened
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(modality="series", family="loss", scale="5, 10, 20, 30, 45 % of the steps lost")
def series_dropout(
    example: Example, severity: int, rng: Stream, *, fill: Literal["hold", "mean", "zero"] = "hold", width: int = 3
) -> Perturbed:
    """Remove stretches of steps in all channels at once, and fill them as a logger would.

    fill: "hold" (the last value before the gap), "mean" (of the channel), "zero". width: steps in a gap.
    """
    signal = opened(example)
    steps = len(signal.x)
    gaps = holes(rng.shares(steps), (0.05, 0.1, 0.2, 0.3, 0.45)[severity - 1], max(1, width))
    if fill == "hold":
        last = np.maximum.accumulate(np.where(gaps, -1, np.arange(steps)))
        first = int(np.argmin(gaps))  # nothing came before a gap at the start: what comes after it
        filling = signal.x[np.where(last < 0, first, last)]
    else:
        filling = np.broadcast_to(signal.x.mean(axis=0) if fill == "mean" else np.zeros(1), signal.x.shape)
    return signal.with_values(np.where(gaps[:, None], filling, signal.x))
