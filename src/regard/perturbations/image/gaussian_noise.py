"""Gaussian sensor noise."""

from __future__ import annotations

from regard.measures.keyed_random import Stream
from regard.perturbations.picture import normals, opened
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(
    modality="image",
    family="noise",
    scale="deviation 0.08, 0.12, 0.18, 0.26, 0.38 of the range",
    cite="Hendrycks & Dietterich 2019",
)
def gaussian_noise(example: Example, severity: int, rng: Stream) -> Perturbed:
    """Add Gaussian noise to every pixel and channel."""
    picture = opened(example)
    size = (0.08, 0.12, 0.18, 0.26, 0.38)[severity - 1]
    return picture.with_pixels(picture.x + size * normals(rng, *picture.x.shape))
