"""Synthetic frost."""

from __future__ import annotations

from regard.measures.keyed_random import Stream
from regard.perturbations.picture import cloud, opened
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(
    modality="image",
    family="weather",
    scale="ice over 40, 60, 70, 70, 75 % of a picture at 100, 80, 70, 65, 60 %",
    cite="Hendrycks & Dietterich 2019",
)
def frost_like(example: Example, severity: int, rng: Stream) -> Perturbed:
    """Draw ice crystals over a darkened image.

    Deviation: the ice is made of ridges of fractal noise, not of photographs, so an error under it is not comparable
    with published ones (hence the name).
    """
    picture = opened(example)
    brightness, ice = ((1.0, 0.4), (0.8, 0.6), (0.7, 0.7), (0.65, 0.7), (0.6, 0.75))[severity - 1]
    _, height, width = picture.x.shape
    ridges = [1 - (2 * cloud(rng, height, width, rough) - 1).abs() for rough in (1.0, 1.6)]
    pattern = (ridges[0] * ridges[1]) ** 2
    pattern = (pattern - pattern.min()) / (pattern.max() - pattern.min()).clamp_min(1e-9)
    return picture.with_pixels(brightness * picture.x + ice * pattern)
