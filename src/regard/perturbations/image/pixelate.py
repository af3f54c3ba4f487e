"""Low resolution."""

from __future__ import annotations

import torch

from regard.measures.keyed_random import Stream
from regard.perturbations.picture import opened
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(
    modality="image",
    family="digital",
    scale="60, 50, 40, 30, 25 % of the resolution",
    cite="Hendrycks & Dietterich 2019",
)
def pixelate(example: Example, severity: int, rng: Stream) -> Perturbed:
    """Downsample the image and enlarge it again without smoothing."""
    picture = opened(example)
    share = (0.6, 0.5, 0.4, 0.3, 0.25)[severity - 1]
    _, height, width = picture.x.shape
    x = picture.x
    for axis, size in ((1, height), (2, width)):
        # a block is the pixels that fall on one of the fewer ones; its value their mean
        block = torch.arange(size) * max(1, round(size * share)) // size
        member = torch.nn.functional.one_hot(block).to(x.dtype)
        means = (member / member.sum(0)) @ member.T
        x = torch.tensordot(x, means, dims=([axis], [0])).movedim(-1, axis)
    return picture.with_pixels(x)
