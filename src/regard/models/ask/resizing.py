"""Differentiable resizing: two matrices around the picture, clipped like bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.records import Bools, Ints, Units

Array = NDArray[Any]


@dataclass(frozen=True)
class Resize:
    """Resizing. rows (out height, height) and columns (out width, width): see `PictureGeometry.matrices`.

    top: the user's value of white; filters that overshoot are clipped to 0..top. channels: of the result; a grey
    picture is repeated for each of them.
    """

    rows: Array
    columns: Array
    top: float
    channels: int

    def apply(self, x: Tensor) -> Tensor:
        """(n, channels, height, width) -> (n, channels, out height, out width), in the user's units."""
        rows, columns = (torch.tensor(m, dtype=x.dtype, device=x.device) for m in (self.rows, self.columns))
        resized = (rows @ x @ columns.T).clamp(0.0, self.top)
        return resized.expand(-1, self.channels, -1, -1) if resized.shape[1] == 1 else resized

    def seen(self, shape: tuple[int, ...]) -> Bools:
        """Mask of the pixels that have any weight in the model's input; same shape as the picture."""
        plane = np.outer((self.rows != 0).sum(0), (self.columns != 0).sum(0)) > 0
        return np.broadcast_to(plane, shape)


def owner_of_pixels(units: Units, shape: tuple[int, ...]) -> Ints:
    """Return the unit that contains each pixel, -1 for none; (channels, height, width) of the picture."""
    plane = np.full(shape[1:], -1, np.int64)
    for k in np.flatnonzero(~units.special):
        top, left, bottom, right = np.rint(units.places[k]).astype(int)
        plane[top:bottom, left:right] = k
    return np.broadcast_to(plane, shape)
