"""Camera motion."""

from __future__ import annotations

import numpy as np

from regard.measures.keyed_random import Stream
from regard.perturbations.picture import opened, smeared
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(
    modality="image",
    family="blur",
    scale="10 to 20 pixels long, fading over 3, 5, 8, 12, 15 (at 224 pixels; with the root of the side)",
    cite="Hendrycks & Dietterich 2019",
)
def motion_blur(example: Example, severity: int, rng: Stream) -> Perturbed:
    """Blur the image along a line, up to 45 degrees from horizontal."""
    picture = opened(example)
    reach, sigma = ((10, 3), (15, 5), (15, 8), (15, 12), (20, 15))[severity - 1]
    angle = (rng.share() - 0.5) * np.pi / 2
    return picture.with_pixels(smeared(picture.x, picture.length(reach), picture.length(sigma), angle))
