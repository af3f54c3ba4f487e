"""Snowfall."""

from __future__ import annotations

import numpy as np
import torch

from regard.measures.keyed_random import Stream
from regard.perturbations.picture import luma, normals, opened, smeared, zoomed
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(
    modality="image",
    family="weather",
    scale="more and larger flakes, a paler picture",
    cite="Hendrycks & Dietterich 2019",
)
def snow(example: Example, severity: int, rng: Stream) -> Perturbed:
    """Draw wind-driven flakes over a paled image.

    Deviation: from severity 3 on more flakes than published, or severity 3 would be milder than 2 on small pictures.
    """
    picture = opened(example)
    mean, spread, zoom, least, reach, sigma, brightness = (
        (0.1, 0.3, 3.0, 0.5, 10, 4, 0.8), (0.2, 0.3, 2.0, 0.5, 12, 4, 0.7), (0.55, 0.3, 4.0, 0.8, 12, 8, 0.7),
        (0.55, 0.3, 4.5, 0.75, 12, 8, 0.65), (0.55, 0.3, 2.5, 0.75, 12, 12, 0.55),
    )[severity - 1]  # fmt: skip
    flakes = zoomed(mean + spread * normals(rng, 1, *picture.x.shape[1:]), zoom)
    flakes = torch.where(flakes < least, 0.0, flakes).clamp(0, 1)
    angle = -(0.25 + 0.5 * rng.share()) * np.pi  # from above
    flakes = smeared(flakes, picture.length(reach), picture.length(sigma), angle)
    x = brightness * picture.x + (1 - brightness) * torch.maximum(picture.x, luma(picture.x) * 1.5 + 0.5)
    return picture.with_pixels(x + flakes + flakes.flip(1, 2))
