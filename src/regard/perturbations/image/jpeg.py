"""JPEG compression."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn.functional import avg_pool2d, interpolate, pad

from regard.measures.keyed_random import Stream
from regard.perturbations.picture import opened
from regard.records import Example, Perturbed
from regard.registry import perturbation

_LUMA = torch.tensor([
    [16, 11, 10, 16, 24, 40, 51, 61], [12, 12, 14, 19, 26, 58, 60, 55], [14, 13, 16, 24, 40, 57, 69, 56],
    [14, 17, 22, 29, 51, 87, 80, 62], [18, 22, 37, 56, 68, 109, 103, 77], [24, 35, 55, 64, 81, 104, 113, 92],
    [49, 64, 78, 87, 103, 121, 120, 101], [72, 92, 95, 98, 112, 100, 103, 99],
], dtype=torch.float32)  # fmt: skip
_CHROMA = torch.full((8, 8), 99.0)
_CHROMA[:4, :4] = torch.tensor([[17.0, 18, 24, 47], [18, 21, 26, 66], [24, 26, 56, 99], [47, 66, 99, 99]])
"""The tables of the standard (ITU T.81, annex K)."""
_TO_YCC = torch.tensor([[0.299, 0.587, 0.114], [-0.168736, -0.331264, 0.5], [0.5, -0.418688, -0.081312]])
_AT = torch.arange(8, dtype=torch.float32)
_DCT = torch.cos((2 * _AT[None, :] + 1) * _AT[:, None] * np.pi / 16) / 2
_DCT[0] /= np.sqrt(2)


@perturbation(modality="image", family="digital", scale="quality 25, 18, 15, 10, 7", cite="Hendrycks & Dietterich 2019")
def jpeg(example: Example, severity: int, rng: Stream) -> Perturbed:
    """Compress the image with low JPEG quality.

    Applies the lossy steps (colour conversion, half-resolution chroma, quantised cosine transform of 8 x 8 blocks) and
    skips the lossless coding. Equal to an encoder up to rounding.
    """
    picture = opened(example)
    scale = 5000 / (25, 18, 15, 10, 7)[severity - 1]
    x = picture.x * 255
    if x.shape[0] != 3:
        return picture.with_pixels(torch.stack([_packed(c - 128, _LUMA, scale) + 128 for c in x]) / 255)
    planes = torch.einsum("ij,jhw->ihw", _TO_YCC, x)
    light = _packed(planes[0] - 128, _LUMA, scale) + 128
    _, height, width = x.shape
    half = avg_pool2d(planes[1:][None], 2, ceil_mode=True, count_include_pad=False)[0]
    chroma = torch.stack([_packed(c, _CHROMA, scale) for c in half])
    chroma = interpolate(chroma[None], scale_factor=2, mode="bilinear")[0][:, :height, :width]
    back = torch.einsum("ij,jhw->ihw", torch.linalg.inv(_TO_YCC), torch.cat([light[None], chroma]))
    return picture.with_pixels(back / 255)


def _packed(plane: torch.Tensor, table: torch.Tensor, scale: float) -> torch.Tensor:
    """Quantize one plane (centred at 0) in the cosine transform of its 8 x 8 blocks, and transform back."""
    height, width = plane.shape
    wide = pad(plane[None, None], (0, -width % 8, 0, -height % 8), mode="replicate")[0, 0]
    blocks = wide.unfold(0, 8, 8).unfold(1, 8, 8)
    steps = ((table * scale + 50) / 100).floor().clamp(1, 255)
    waves = torch.round(_DCT @ blocks @ _DCT.T / steps) * steps
    rows = (_DCT.T @ waves @ _DCT).permute(0, 2, 1, 3).reshape(wide.shape)
    return rows[:height, :width].round().clamp(-128, 127)
