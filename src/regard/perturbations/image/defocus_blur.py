"""Defocus."""

from __future__ import annotations

import numpy as np
import torch

from regard.measures.keyed_random import Stream
from regard.perturbations.picture import filtered, opened
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(
    modality="image",
    family="blur",
    scale="radius 3, 4, 6, 8, 10 pixels (at 224 pixels; with the root of the side)",
    cite="Hendrycks & Dietterich 2019",
)
def defocus_blur(example: Example, severity: int, rng: Stream) -> Perturbed:
    """Blur the image with a disc kernel."""
    picture = opened(example)
    radius = picture.length((3, 4, 6, 8, 10)[severity - 1])
    reach = max(1, int(np.ceil(radius)))
    at = torch.arange(-reach, reach + 1, dtype=torch.float32)
    # the edge of the disc is half a pixel soft, so that a radius between two pixels lies between them
    disc = (radius + 0.5 - torch.hypot(at[:, None], at[None, :])).clamp(0, 1)
    return picture.with_pixels(filtered(picture.x, disc))
