"""Fog."""

from __future__ import annotations

from regard.measures.keyed_random import Stream
from regard.perturbations.picture import cloud, opened
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(
    modality="image",
    family="weather",
    scale="1.5, 2, 2.5, 2.5, 3 times the brightest pixel",
    cite="Hendrycks & Dietterich 2019",
)
def fog(example: Example, severity: int, rng: Stream) -> Perturbed:
    """Add drifting fog, thicker and finer with severity, which lowers the contrast.

    Deviation: the fog is spectral noise, not a plasma fractal by midpoints.
    """
    picture = opened(example)
    thick, rough = ((1.5, 2.0), (2.0, 2.0), (2.5, 1.7), (2.5, 1.5), (3.0, 1.4))[severity - 1]
    top = picture.x.max().clamp_min(1e-6)
    _, height, width = picture.x.shape
    drift = cloud(rng, height, width, rough)
    return picture.with_pixels((picture.x + thick * drift) * top / (top + thick))
