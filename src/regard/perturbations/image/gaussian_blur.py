"""Gaussian blur."""

from __future__ import annotations

from regard.measures.keyed_random import Stream
from regard.perturbations.picture import blurred, opened
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(
    modality="image",
    family="blur",
    scale="width 1, 2, 3, 4, 6 pixels (at 224 pixels; with the root of the side)",
    cite="Hendrycks & Dietterich 2019",
)
def gaussian_blur(example: Example, severity: int, rng: Stream) -> Perturbed:
    """Blur the image with a Gaussian kernel."""
    picture = opened(example)
    return picture.with_pixels(blurred(picture.x, picture.length((1, 2, 3, 4, 6)[severity - 1])))
