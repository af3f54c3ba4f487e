"""Images: units are the patches that the model reads, row by row."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from regard.errors import InputError, Text, phrase
from regard.models.read.picture_geometry import PictureGeometry
from regard.models.read.regions import Array, ArrayReader, Prepare, with_class_tokens
from regard.records import Bools, Ints, Units


def mean(image: Array, gone: Bools, rng: np.random.Generator) -> Array:
    """The mean colour of the image."""
    return np.broadcast_to(image.mean(axis=(1, 2), keepdims=True), image.shape)


def blur(image: Array, gone: Bools, rng: np.random.Generator) -> Array:
    """The image through a Gaussian of a sixteenth of its size, at least one pixel (Fong & Vedaldi 2017)."""
    out = image.astype(np.float64)
    for axis in (1, 2):
        width = max(1.0, image.shape[axis] / 16)
        reach = int(np.ceil(3 * width))
        weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / width) ** 2)
        spread = [(0, 0)] * 3
        spread[axis] = (reach, reach)
        wide = np.pad(out, spread, mode="edge")
        windows = np.lib.stride_tricks.sliding_window_view(wide, 2 * reach + 1, axis=axis)
        out = np.asarray(windows @ (weights / weights.sum()), np.float64)
    return out


def noise(image: Array, gone: Bools, rng: np.random.Generator) -> Array:
    """Gaussian noise with the mean and spread of the image's channels."""
    centre, spread = image.mean(axis=(1, 2), keepdims=True), image.std(axis=(1, 2), keepdims=True)
    sample: Array = centre + spread * rng.standard_normal(image.shape)
    return sample


def resample(image: Array, gone: Bools, rng: np.random.Generator) -> Array:
    """Pixels drawn from anywhere in the image."""
    channels, height, width = image.shape
    pick = rng.integers(height * width, size=height * width)
    return image.reshape(channels, -1)[:, pick].reshape(image.shape)


FILLS = {"mean": mean, "blur": blur, "noise": noise, "resample": resample}


def as_channels_first(image: Any, channels: int, subject: Text) -> Array:
    """(channels, height, width) of a grey (h, w), channels-last or channels-first array, or of a PIL image.

    Grey pictures, (h, w, 1) and (1, h, w) included, give every channel the same values.
    """
    array = np.asarray(image, dtype=np.float32)
    if array.ndim == 2:
        array = array[None]
    last = array.shape[-1]
    if array.ndim == 3 and array.shape[0] != channels and (last == channels or (last == 1 and array.shape[0] != 1)):
        array = array.transpose(2, 0, 1)
    if array.ndim == 3 and array.shape[0] == 1 and channels > 1:
        array = np.repeat(array, channels, axis=0)
    if array.ndim != 3 or array.shape[0] != channels or not array.size:
        raise InputError(
            subject,
            expected=phrase("errors.models.image_channel_or_channels", channels=channels),
            got=str(np.shape(image)),
            remedy=_reordered(np.shape(image), channels),
        )
    return np.ascontiguousarray(array)


def _reordered(shape: tuple[int, ...], channels: int) -> str:
    """Return the remedy for channels on the middle axis, as a line of code."""
    return "np.moveaxis(image, 1, -1)" if len(shape) == 3 and shape[1] == channels else ""


Box = tuple[float, float, float, float]
"""Top, left, bottom, right in pixels."""


def patches(
    array: Array, patch: tuple[int, int], lead: int, visible: Box, grid: tuple[int, int] | None = None
) -> tuple[Units, Ints]:
    """Units and owners of an array (c, h, w) cut into patches; places are pixels of the user's image.

    visible: the part of the user's image that the array shows. grid: rows and columns of patches, where the last ones
    may be cut off by the edge (cells of a feature map); default: the whole patches that fit.
    """
    return _cut(array.shape, patch, lead, visible, grid)


@lru_cache(maxsize=64)
def _cut(
    shape: tuple[int, ...], patch: tuple[int, int], lead: int, visible: Box, cells: tuple[int, int] | None
) -> tuple[Units, Ints]:
    """Cached and read-only: equal for every image of one shape."""
    _, height, width = shape
    rows, columns = cells or (height // patch[0], width // patch[1])
    if not rows or not columns:
        raise InputError(
            phrase("errors.models.image"),
            expected=phrase("errors.models.at_least_pixels", patch=patch[0], patch_2=patch[1]),
            got=f"{height} x {width}",
        )
    y, x = np.arange(height) // patch[0], np.arange(width) // patch[1]
    grid = np.where((y < rows)[:, None] & (x < columns), y[:, None] * columns + x, -1)
    owner = np.where(grid >= 0, grid + max(lead, 0), -1)
    top, left, bottom, right = visible
    tall, broad = (bottom - top) * patch[0] / height, (right - left) * patch[1] / width
    r, c = np.divmod(np.arange(rows * columns), columns)
    ends = np.minimum(top + (r + 1) * tall, bottom), np.minimum(left + (c + 1) * broad, right)
    corners = [top + r * tall, left + c * broad, *ends]
    places = np.stack(corners, axis=1)
    names = [f"r{i}c{j}" for i, j in zip(r, c, strict=True)]
    units = with_class_tokens(names, places, "patch", place_kind="box", shape=(rows, columns), lead=lead)
    everywhere = np.broadcast_to(owner, shape).astype(np.int64)
    everywhere.setflags(write=False)
    return units, everywhere


def image_reader(
    main: str,
    prepare: Prepare,
    patch: tuple[int, int],
    lead: int,
    geometry: Callable[[int, int], PictureGeometry] | None = None,
    cells: Callable[[int, int], tuple[int, int]] | None = None,
) -> ArrayReader:
    """A reader of images; `lead` class tokens stand before the patches on the key axis (-1: no fixed place there).

    geometry: preprocessing of a picture of some height and width. cells: (height, width) that the model reads -> rows
    and columns of its feature map, whose cells are the units then.
    """

    def lay_out(array: Array, given: Any) -> tuple[Units, Ints]:
        height, width = picture_size(np.shape(given))
        whole = (0.0, 0.0, float(height), float(width))
        visible = whole if geometry is None else geometry(height, width).visible
        if cells is None:
            return patches(array, patch, lead, visible)
        grid = cells(*array.shape[1:])
        edges = (cell_edge(array.shape[1], grid[0]), cell_edge(array.shape[2], grid[1]))
        return patches(array, edges, lead, visible, grid)

    return ArrayReader(
        modality="image", main=main, entry="image", prepare=prepare, lay_out=lay_out, fills=FILLS, geometry=geometry
    )


def cell_edge(pixels: int, cells: int) -> int:
    """Edge of a cell in pixels: the least power of two that gives this number of cells, the last one cut off.

    Where there is none, the least number of pixels.

    >>> cell_edge(100, 4), cell_edge(96, 3), cell_edge(100, 3)
    (32, 32, 34)
    """
    powers = (2**k for k in range(pixels.bit_length() + 1))
    return next((edge for edge in powers if -(-pixels // edge) == cells), -(-pixels // cells))


def picture_size(shape: tuple[int, ...]) -> tuple[int, int]:
    """Height and width of a picture, whichever axis its channels are on.

    >>> picture_size((3, 48, 40)), picture_size((48, 40, 3)), picture_size((48, 40))
    ((48, 40), (48, 40), (48, 40))
    """
    first = len(shape) == 3 and shape[0] in (1, 3) and shape[2] not in (1, 3)
    edges = shape[1:] if first else shape[:2]
    return int(edges[0]), int(edges[1])
