"""Frosted-glass blur."""

from __future__ import annotations

import torch

from regard.measures.keyed_random import Stream
from regard.perturbations.picture import blurred, moved, opened, shares
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(
    modality="image",
    family="blur",
    scale="pixels moved by up to 1, 2, 2, 3, 4, once to three times (at 224 pixels; with the root of the side)",
    cite="Hendrycks & Dietterich 2019",
)
def glass_blur(example: Example, severity: int, rng: Stream) -> Perturbed:
    """Move pixels to random nearby positions, between two slight blurs.

    Deviation: samples positions between pixels (a pixel may appear twice) instead of swapping pixels one by one.
    """
    picture = opened(example)
    sigma, reach, times = ((0.7, 1, 2), (0.9, 2, 1), (1.0, 2, 3), (1.1, 3, 2), (1.5, 4, 2))[severity - 1]
    far = picture.length(reach)
    x = blurred(picture.x, picture.length(sigma))
    _, height, width = x.shape
    rows, columns = torch.linspace(-1, 1, height)[:, None], torch.linspace(-1, 1, width)[None, :]
    for _ in range(times):
        step = 2 * far * (2 * shares(rng, 2, height, width) - 1)
        x = moved(x, rows + step[0] / max(1, height - 1), columns + step[1] / max(1, width - 1))
    return picture.with_pixels(blurred(x, picture.length(sigma)))
