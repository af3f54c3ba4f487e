"""Multiplicative noise."""

from __future__ import annotations

from regard.measures.keyed_random import Stream
from regard.perturbations.picture import normals, opened
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(
    modality="image",
    family="noise",
    scale="deviation 0.15, 0.2, 0.35, 0.45, 0.6 of the pixel",
    cite="Hendrycks & Dietterich 2019",
)
def speckle_noise(example: Example, severity: int, rng: Stream) -> Perturbed:
    """Add Gaussian noise proportional to each value; black stays black."""
    picture = opened(example)
    size = (0.15, 0.2, 0.35, 0.45, 0.6)[severity - 1]
    return picture.with_pixels(picture.x * (1 + size * normals(rng, *picture.x.shape)))
