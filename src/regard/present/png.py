"""PNG encoder with the standard library alone."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.measures.pixel_range import full_brightness

SIGNATURE = b"\x89PNG\r\n\x1a\n"
COLOUR_TYPE = {1: 0, 3: 2}


def png(pixels: NDArray[np.uint8]) -> bytes:
    """A PNG of (height, width, 1 or 3) bytes.

    >>> png(np.zeros((2, 3, 1), np.uint8))[:8] == SIGNATURE
    True
    """
    height, width, channels = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, COLOUR_TYPE[channels], 0, 0, 0)
    rows = b"".join(b"\0" + row.tobytes() for row in np.ascontiguousarray(pixels))
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return SIGNATURE + b"".join(map(_chunk, chunks))


def png_address(pixels: NDArray[np.uint8]) -> str:
    """The PNG as a data: URL."""
    return "data:image/png;base64," + base64.b64encode(png(pixels)).decode("ascii")


def _chunk(chunk: tuple[bytes, bytes]) -> bytes:
    kind, body = chunk
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def shown_pixels(image: ArrayLike | None, longest: int, *, grey: bool = False) -> NDArray[np.uint8] | None:
    """(height, width, 1 or 3) bytes of a picture, whichever axis its channels are on, averaged down to `longest`.

    Pixels of 0..1 or 0..255 keep their brightness; other numbers are scaled from their smallest to their largest.
    """
    array = None if image is None else np.asarray(image)
    if array is None or array.ndim not in (2, 3) or not array.size or array.dtype.kind not in "fiub":
        return None
    top = full_brightness(array)
    low, high = (0.0, top) if top is not None else (float(array.min()), float(array.max()))
    values = _channels_last(array.astype(np.float64))
    if grey:
        values = values.mean(2, keepdims=True)
    step = -(-max(values.shape[:2]) // longest)
    if step > 1:
        rows, columns = (max(size // step, 1) * step for size in values.shape[:2])
        whole = np.pad(
            values, [(0, max(rows - values.shape[0], 0)), (0, max(columns - values.shape[1], 0)), (0, 0)], "edge"
        )
        values = whole[:rows, :columns].reshape(rows // step, step, columns // step, step, -1).mean((1, 3))
    scaled = 255.0 * (values - low) / ((high - low) or 1.0)
    return np.clip(np.rint(scaled), 0, 255).astype(np.uint8)


def _channels_last(array: NDArray[Any]) -> NDArray[Any]:
    if array.ndim == 2:
        return array[:, :, None]
    if array.shape[0] <= 4 < array.shape[2]:
        array = np.moveaxis(array, 0, 2)
    return array[:, :, :3] if array.shape[2] >= 3 else array[:, :, :1]
