"""Oversaturated colours."""

from __future__ import annotations

from regard.measures.keyed_random import Stream
from regard.perturbations.picture import luma, opened
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(
    modality="image",
    family="digital",
    scale="colours 1.5, 2.5, 4, 8, 20 times as strong",
    cite="Hendrycks & Dietterich 2019",
)
def saturate(example: Example, severity: int, rng: Stream) -> Perturbed:
    """Saturate colours at constant lightness; a grey image stays unchanged.

    Deviation: the published ladder goes to paler colours first; here the change grows with severity.
    """
    picture = opened(example)
    if picture.x.shape[0] != 3:
        return picture.with_pixels(picture.x)
    grey = luma(picture.x)
    return picture.with_pixels(grey + (picture.x - grey) * (1.5, 2.5, 4.0, 8.0, 20.0)[severity - 1])
