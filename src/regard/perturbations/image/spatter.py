"""Drops on the lens."""

from __future__ import annotations

import torch

from regard.measures.keyed_random import Stream
from regard.perturbations.picture import blurred, normals, opened
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(
    modality="image",
    family="weather",
    scale="drops over about 5, 12, 20, 45, 60 % of the picture; mud from 4 on",
    cite="Hendrycks & Dietterich 2019",
)
def spatter(example: Example, severity: int, rng: Stream) -> Perturbed:
    """Draw drops of water (low severity) or mud over part of the image.

    Deviation: drops are the peaks of smooth noise, of a given share of the area; no edges are traced.
    """
    picture = opened(example)
    share, thick = ((0.05, 0.5), (0.12, 0.55), (0.2, 0.6), (0.45, 0.85), (0.6, 0.95))[severity - 1]
    field = blurred(normals(rng, 1, *picture.x.shape[1:]), max(0.6, picture.length(3)))
    least = torch.quantile(field.flatten(), 1 - share)
    # full in the middle of a drop, nothing at its edge
    mask = thick * ((field - least) / (field.max() - least).clamp_min(1e-9)).clamp(0, 1) ** 0.3 * (field > least)
    shade = (0.69, 0.93, 0.93) if severity < 4 else (0.25, 0.16, 0.08)
    count = picture.x.shape[0]
    colour = torch.tensor(shade if count == 3 else [sum(shade) / 3] * count)[:, None, None]
    return picture.with_pixels(picture.x * (1 - mask) + colour * mask)
