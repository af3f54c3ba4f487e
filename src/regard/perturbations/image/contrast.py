"""Low contrast."""

from __future__ import annotations

from regard.measures.keyed_random import Stream
from regard.perturbations.picture import opened
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(
    modality="image",
    family="digital",
    scale="to 40, 30, 20, 10, 5 % of what it was",
    cite="Hendrycks & Dietterich 2019",
)
def contrast(example: Example, severity: int, rng: Stream) -> Perturbed:
    """Move every value towards the mean of its channel."""
    picture = opened(example)
    mean = picture.x.mean((1, 2), keepdim=True)
    return picture.with_pixels(mean + (picture.x - mean) * (0.4, 0.3, 0.2, 0.1, 0.05)[severity - 1])
