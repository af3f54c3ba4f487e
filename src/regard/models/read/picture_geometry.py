"""Geometry of an image processor: it resizes a picture, then crops the middle.

Both are linear in the pixels and work on rows and columns separately, so two small matrices hold them. They come from
Pillow's own filters in floating point; a processor resizes bytes, so its result differs by its rounding only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Size = tuple[int, int]
"""Height and width."""
BILINEAR = 2
"""Default filter of processors, by Pillow's number."""


@dataclass(frozen=True, slots=True)
class PictureGeometry:
    """Geometry of one picture: resized from `given` to `resized`; the model reads `out` pixels from (top, left).

    resample: Pillow's number of the filter. plain: whether resizing and cropping explain the output size.
    """

    given: Size
    resized: Size
    top: int
    left: int
    out: Size
    resample: int
    plain: bool

    @property
    def visible(self) -> tuple[float, float, float, float]:
        """(top, left, bottom, right) of the part that the model reads, in pixels of the user's picture."""
        if not self.plain:
            return 0.0, 0.0, float(self.given[0]), float(self.given[1])
        tall, broad = self.given[0] / self.resized[0], self.given[1] / self.resized[1]
        top, left = self.top * tall, self.left * broad
        return top, left, top + self.out[0] * tall, left + self.out[1] * broad

    @property
    def resizes(self) -> bool:
        return self.given != self.out

    def matrices(self) -> tuple[Array, Array]:
        """(out height, height) and (out width, width): read pixels = rows @ picture @ columns.T."""
        rows = resize_matrix(self.given[0], self.resized[0], self.resample)
        columns = resize_matrix(self.given[1], self.resized[1], self.resample)
        return rows[self.top : self.top + self.out[0]], columns[self.left : self.left + self.out[1]]


@lru_cache(maxsize=16)
def resize_matrix(size: int, resized: int, resample: int) -> Array:
    """(resized, size) weights of Pillow's filter along one axis.

    >>> resize_matrix(4, 2, 4).tolist()  # the box filter
    [[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]]
    """
    if size == resized:
        return np.eye(size, dtype=np.float32)
    from PIL import Image

    resampling: Any = resample
    image = Image.fromarray(np.eye(size, dtype=np.float32)).resize((size, resized), resampling)
    weights = np.array(image, np.float32)
    weights.setflags(write=False)
    return weights


def geometry_of(processor: Any, channels: int) -> Callable[[int, int], PictureGeometry]:
    """(height, width) -> geometry, measured on the processor with an empty picture, once per size."""

    @lru_cache(maxsize=256)
    def ask(height: int, width: int) -> PictureGeometry:
        out = _shape(processor, channels, (height, width))
        resized = _shape(processor, channels, (height, width), do_center_crop=False, do_pad=False)
        top, left = (resized[0] - out[0]) // 2, (resized[1] - out[1]) // 2
        resample = getattr(processor, "resample", None)
        return PictureGeometry(
            given=(height, width),
            resized=resized,
            top=top,
            left=left,
            out=out,
            resample=BILINEAR if resample is None else int(resample),
            plain=top >= 0 and left >= 0 and getattr(processor, "crop_pct", None) is None,
        )

    return ask


def _shape(processor: Any, channels: int, size: Size, **options: Any) -> Size:
    empty = np.zeros((channels, *size), np.uint8)
    batch = processor(images=empty, input_data_format="channels_first", return_tensors="np", **options)
    shape = np.shape(batch["pixel_values"][0])
    return int(shape[1]), int(shape[2])
