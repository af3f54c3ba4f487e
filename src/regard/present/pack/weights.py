"""Attention weights as bytes: the square root in eight bits, whole, by heads or in tiles, with thumbnails."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from regard.present.pack.records import Storage

WHOLE = 1 << 17
"""Maximum bytes of a site whose heads share one chunk."""
BY_HEAD = 512 * 512
"""Maximum weights of a head in one chunk; larger ones are tiled."""
TILE = 256
THUMB = 32
POOLED = 128

Bytes = NDArray[np.uint8]


def to_bytes(weights: NDArray[np.float32]) -> tuple[Bytes, list[float], float]:
    """(head, query, key) -> bytes of the same shape, the largest weight of each head, the largest error.

    NaN becomes 0 here; `build` counts and reports it.

    >>> packed, tops, error = to_bytes(np.array([[[0.25, 0.5], [0.0, 0.01]]], np.float32))
    >>> packed.tolist(), tops, bool(error < 0.002)
    ([[[180, 255], [0, 36]]], [0.5], True)
    """
    w = np.clip(np.nan_to_num(np.asarray(weights, np.float32), posinf=0.0, neginf=0.0), 0.0, None)
    tops = w.reshape(len(w), -1).max(1, initial=0.0).astype(np.float32)
    scale = np.where(tops > 0, tops, 1.0).astype(np.float32)[:, None, None]
    packed = np.rint(255.0 * np.sqrt(w / scale)).astype(np.uint8)
    error = max(
        (float(np.abs(scale[h] * (packed[h] / np.float32(255)) ** 2 - w[h]).max(initial=0.0)) for h in range(len(w))),
        default=0.0,
    )
    return packed, [float(t) for t in tops], error


def storage_of(rows: int, columns: int, heads: int) -> Storage:
    """Return the storage form of a site of this size."""
    if rows * columns * heads <= WHOLE:
        return "whole"
    return "heads" if rows * columns <= BY_HEAD else "tiles"


def levels_of(rows: int, columns: int) -> int:
    """Number of levels of a pyramid of tiles: the last one is a single tile."""
    count = 1
    while max(rows, columns) > TILE << (count - 1):
        count += 1
    return count


def pooled(head: Bytes, rows: int, columns: int) -> Bytes:
    """Largest byte of each block; the blocks have sizes as equal as possible.

    >>> pooled(np.array([[1, 2, 3], [4, 9, 0]], np.uint8), 1, 2).tolist()
    [[4, 9]]
    """
    if head.shape == (rows, columns):
        return head
    down = np.maximum.reduceat(head, np.arange(rows) * head.shape[0] // rows, axis=0)
    return np.maximum.reduceat(down, np.arange(columns) * head.shape[1] // columns, axis=1)


def halved(head: Bytes) -> Bytes:
    """Max-pool by two; an odd last row or column stays alone."""
    down = np.maximum.reduceat(head, np.arange(0, head.shape[0], 2), axis=0)
    return np.maximum.reduceat(down, np.arange(0, head.shape[1], 2), axis=1)


def chunks_of(packed: Bytes, prefix: str, storage: Storage, heads: Sequence[int]) -> Iterator[tuple[str, Bytes]]:
    """(name, bytes) of every stored chunk of these heads of a site."""
    if storage == "whole":
        yield f"{prefix}/all", packed
        return
    for h in heads:
        if storage == "heads":
            yield f"{prefix}/{h}", packed[h]
            continue
        level = packed[h]
        for number in range(levels_of(*packed.shape[1:])):
            for r in range(0, level.shape[0], TILE):
                for c in range(0, level.shape[1], TILE):
                    yield f"{prefix}/{h}/{number}/{r // TILE}/{c // TILE}", level[r : r + TILE, c : c + TILE]
            level = halved(level)


def compressed(parts: Sequence[tuple[str, NDArray[np.generic]]]) -> dict[str, bytes]:
    """Compress each with gzip, in threads; without time stamps, so that equal weights give equal bytes."""

    def one(part: tuple[str, NDArray[np.generic]]) -> tuple[str, bytes]:
        return part[0], gzip.compress(np.ascontiguousarray(part[1]).tobytes(), compresslevel=6, mtime=0)

    if len(parts) < 8:
        return dict(map(one, parts))
    with ThreadPoolExecutor(4) as pool:
        return dict(pool.map(one, parts))
