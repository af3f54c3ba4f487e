"""Overexposure."""

from __future__ import annotations

import torch

from regard.measures.keyed_random import Stream
from regard.perturbations.picture import opened
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(
    modality="image", family="digital", scale="0.1, 0.2, 0.3, 0.4, 0.5 of the range", cite="Hendrycks & Dietterich 2019"
)
def brightness(example: Example, severity: int, rng: Stream) -> Perturbed:
    """Brighten every pixel, keeping its colour where possible."""
    picture = opened(example)
    more = (0.1, 0.2, 0.3, 0.4, 0.5)[severity - 1]
    value = picture.x.amax(0, keepdim=True)
    lit = (value + more).clamp(max=1)
    # a black pixel has no colour to keep: it turns grey
    return picture.with_pixels(torch.where(value > 1e-6, picture.x * lit / value.clamp_min(1e-6), lit))
