"""Zoom during exposure."""

from __future__ import annotations

import torch

from regard.measures.keyed_random import Stream
from regard.perturbations.picture import opened, zoomed
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(
    modality="image", family="blur", scale="enlarged by up to 11, 16, 21, 26, 31 %", cite="Hendrycks & Dietterich 2019"
)
def zoom_blur(example: Example, severity: int, rng: Stream) -> Perturbed:
    """Average the image with enlarged copies of itself."""
    picture = opened(example)
    most = (1.11, 1.16, 1.21, 1.26, 1.31)[severity - 1]
    # a pixel of a small image is wide: it is enlarged further, so that the edge moves as visibly
    most = 1 + (most - 1) * max(1.0, 1 / picture.length(1.0)) ** 0.5
    factors = torch.linspace(1, most, 11).tolist()
    return picture.with_pixels(torch.stack([picture.x, *(zoomed(picture.x, f) for f in factors)]).mean(0))
