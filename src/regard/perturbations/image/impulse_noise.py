"""Dead and hot pixels."""

from __future__ import annotations

import torch

from regard.measures.keyed_random import Stream
from regard.perturbations.picture import opened, shares
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(
    modality="image", family="noise", scale="3, 6, 9, 17, 27 % of the values", cite="Hendrycks & Dietterich 2019"
)
def impulse_noise(example: Example, severity: int, rng: Stream) -> Perturbed:
    """Set some values to 0 or 1 (salt and pepper)."""
    picture = opened(example)
    share = (0.03, 0.06, 0.09, 0.17, 0.27)[severity - 1]
    lots = shares(rng, *picture.x.shape)
    spoilt = torch.where(lots < share / 2, 0.0, torch.where(lots < share, 1.0, picture.x))
    return picture.with_pixels(spoilt)
