"""Elastic deformation."""

from __future__ import annotations

import torch

from regard.measures.keyed_random import Stream
from regard.perturbations.picture import blurred, moved, normals, opened
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(
    modality="image",
    family="digital",
    scale="places moved by 3, 5, 7, 10, 14 pixels (at 224 pixels; with the root of the side)",
    cite="Hendrycks & Dietterich 2019",
)
def elastic(example: Example, severity: int, rng: Stream) -> Perturbed:
    """Stretch and compress the image smoothly.

    Deviation: one ladder of displacements (root mean square), where the published one changes between two kinds.
    """
    picture = opened(example)
    _, height, width = picture.x.shape
    field = blurred(normals(rng, 2, height, width), max(1.0, picture.length(20)))
    field = field / field.square().mean((1, 2), keepdim=True).sqrt().clamp_min(1e-9)
    step = picture.length((3, 5, 7, 10, 14)[severity - 1]) * field
    rows = torch.linspace(-1, 1, height)[:, None] + 2 * step[0] / max(1, height - 1)
    columns = torch.linspace(-1, 1, width)[None, :] + 2 * step[1] / max(1, width - 1)
    return picture.with_pixels(moved(picture.x, rows, columns))
