"""Shot noise."""

from __future__ import annotations

import numpy as np
import torch

from regard.measures.keyed_random import Stream
from regard.perturbations.picture import opened
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(
    modality="image",
    family="noise",
    scale="60, 25, 12, 5, 3 photons for a white pixel",
    cite="Hendrycks & Dietterich 2019",
)
def shot_noise(example: Example, severity: int, rng: Stream) -> Perturbed:
    """Replace every value by a Poisson photon count.

    Drawn by inverting the distribution, one number per pixel.
    """
    picture = opened(example)
    photons = (60, 25, 12, 5, 3)[severity - 1]
    rate = picture.x.double().numpy() * photons
    lots = rng.shares(*rate.shape)
    count, chance = np.zeros_like(rate), np.exp(-rate)
    below = chance.copy()
    for k in range(1, 4 * photons + 20):  # no pixel has more, for all that double precision can tell
        count += lots >= below
        chance = chance * rate / k
        below = below + chance
    return picture.with_pixels(torch.from_numpy(count / photons).float())
