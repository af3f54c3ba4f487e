"""Regions of a picture as sources: cells of a grid or boxes, their removal, and the patches that belong to each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import InputError, phrase
from regard.records import Ints

Box = tuple[int, int, int, int]
"""(top, left, bottom, right) in pixels of the user's picture."""
GRID = "3x3"
"""Default regions."""


def find_regions(size: tuple[int, int], sources: str | Sequence[Any] | None) -> list[Box]:
    """Return boxes in a picture of this height and width. sources: a grid, rows x columns, or a list of boxes.

    >>> find_regions((32, 30), "2x2")
    [(0, 0, 16, 15), (0, 15, 16, 30), (16, 0, 32, 15), (16, 15, 32, 30)]
    """
    if sources is None or isinstance(sources, str):
        return _cells(size, GRID if sources is None else sources)
    boxes = [_box(size, box, number) for number, box in enumerate(sources, 1)]
    if not boxes:
        raise InputError("sources", expected=phrase("errors.models.grid_or_boxes"), got=phrase("errors.common.none"))
    for (i, one), (j, other) in combinations(enumerate(boxes, 1), 2):
        top, left = max(one[0], other[0]), max(one[1], other[1])
        if top < min(one[2], other[2]) and left < min(one[3], other[3]):
            raise InputError(
                phrase("errors.models.two_sources", one=i, one_2=j),
                expected=phrase("errors.models.sources_that_do_not_overlap"),
                got=phrase(
                    "errors.models.both_hold", sources=phrase("errors.models.pixel_position", top=top, left=left)
                ),
            )
    return boxes


def region_name(box: Box) -> str:
    """Name a region by its rows and columns of pixels.

    >>> region_name((0, 16, 16, 32))
    '[0:16, 16:32]'
    """
    top, left, bottom, right = box
    return f"[{top}:{bottom}, {left}:{right}]"


def neutral_colour(processor: Any) -> NDArray[np.uint8]:
    """Return the colour that a processor maps to 0: the mean of the pictures of training, or grey.

    The mean of the picture itself would reveal the removed part.
    """
    mean = np.asarray(getattr(getattr(processor, "image_processor", None), "image_mean", None) or 0.5, np.float64)
    return np.rint(np.broadcast_to(255 * mean if (mean <= 1).all() else mean, 3)).astype(np.uint8)


def without_regions(picture: NDArray[np.uint8], boxes: Sequence[Box], colour: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Fill regions of a picture (height, width, 3) with one colour."""
    filled = picture.copy()
    for top, left, bottom, right in boxes:
        filled[top:bottom, left:right] = colour
    return filled


def inverted_region(picture: NDArray[np.uint8], box: Box) -> NDArray[np.uint8]:
    """Change every pixel of one region, so that its patches can be identified after resizing and cropping."""
    changed = picture.copy()
    top, left, bottom, right = box
    part = changed[top:bottom, left:right]
    changed[top:bottom, left:right] = np.where(part < 128, 255, 0)
    return changed


def patch_owners(changes: NDArray[Any], grid: tuple[int, int]) -> Ints:
    """(regions, height, width) shares of the model's pixels -> (patches,) the region with the largest part of each.

    -1 for a patch whose largest part belongs to no region.

    >>> patch_owners(np.array([[[1, 1, 0, 0.2]], [[0, 0, 0.4, 0.2]]]), (1, 2))
    array([ 0, -1])
    """
    count, height, width = changes.shape
    rows, columns = grid
    tall, broad = height // rows, width // columns
    tiles = changes[:, : rows * tall, : columns * broad].reshape(count, rows, tall, columns, broad)
    shares = tiles.mean((2, 4)).reshape(count, rows * columns)
    return np.where(shares.max(0) > 1 - shares.sum(0), shares.argmax(0), -1).astype(np.int64)


def _cells(size: tuple[int, int], grid: str) -> list[Box]:
    match = re.fullmatch(r"(\d{1,3})x(\d{1,3})", grid.strip())
    rows, columns = (int(match[1]), int(match[2])) if match else (0, 0)
    if not (1 <= rows <= size[0] and 1 <= columns <= size[1]):
        raise InputError("sources", expected=phrase("errors.models.grid_or_boxes"), got=repr(grid))
    down = np.linspace(0, size[0], rows + 1).round().astype(int).tolist()
    across = np.linspace(0, size[1], columns + 1).round().astype(int).tolist()
    return [(down[i], across[j], down[i + 1], across[j + 1]) for i in range(rows) for j in range(columns)]


def _box(size: tuple[int, int], box: Any, number: int) -> Box:
    numbers = tuple(box) if isinstance(box, list | tuple) else ()
    if len(numbers) != 4 or not all(isinstance(value, int) and not isinstance(value, bool) for value in numbers):
        raise InputError("sources", expected=phrase("errors.models.grid_or_boxes"), got=repr(box)[:60])
    top, left, bottom, right = numbers
    if not (0 <= top < bottom <= size[0] and 0 <= left < right <= size[1]):
        raise InputError(
            phrase("errors.models.region_number", number=number),
            expected=phrase("errors.models.box_inside_picture", height=size[0], width=size[1]),
            got=repr(list(numbers)),
        )
    return top, left, bottom, right
