"""Sites of long inputs: pooled in chunks of rows, never whole; exact tiles on demand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from regard.present.pack.chunks import Promise
from regard.present.pack.rows import captured_attention, captured_positions
from regard.present.pack.weights import POOLED, TILE, Bytes, halved, levels_of
from regard.protocols import SiteAttention
from regard.records import Attention, Site, Text

LONG = 1 << 20
"""Maximum weights of one head of an unpooled site: 1,024 x 1,024."""
ROWS = 128
"""Rows computed at once."""


@dataclass(frozen=True, slots=True, eq=False)
class PooledAttention:
    """Largest weight of every block of a site: maxima (head, block row, block column); shape: that of the site."""

    source: SiteAttention
    example: int
    maxima: NDArray[np.float32]

    @property
    def site(self) -> Site:
        return self.source.site

    @property
    def shape(self) -> tuple[int, int, int, int]:
        return 1, *self.source.shape[1:]

    @property
    def checked(self) -> Text:
        return getattr(self.source, "checked", "")

    def tiles(self, prefix: str, tops: list[float]) -> Iterator[tuple[str, Promise]]:
        """(name, promise) of every tile of every head and level, as `weights.chunks_of` names them."""
        _, heads, rows, columns = self.shape
        for head in range(heads):
            for level in range(levels_of(rows, columns)):
                for r in range(-(-rows // (TILE << level))):
                    for c in range(-(-columns // (TILE << level))):
                        name = f"{prefix}/{head}/{level}/{r}/{c}"
                        yield name, partial(self.tile, tops[head], head=head, level=level, row=r, column=c)

    def tile(self, top: float, *, head: int, level: int, row: int, column: int) -> Bytes:
        """Compute one tile: exact weights as bytes, the largest of 2^level x 2^level in each place."""
        _, _, rows, columns = self.shape
        size = TILE << level
        left = column * size
        parts = []
        for start in range(row * size, min(rows, (row + 1) * size), max(ROWS, 1 << level)):
            stop = min(rows, (row + 1) * size, start + max(ROWS, 1 << level))
            weights = self.source.rows(self.example, range(start, stop), [head])[0, :, left : min(columns, left + size)]
            part: Bytes = np.rint(255.0 * np.sqrt(np.clip(weights / (top or 1.0), 0.0, 1.0))).astype(np.uint8)
            for _ in range(level):
                part = halved(part)
            parts.append(part)
        return np.concatenate(parts)


def is_long(site: SiteAttention) -> bool:
    """Return whether all rows of a site were captured and are too many to store whole."""
    return captured_positions(site) is None and site.shape[2] * site.shape[3] > LONG


def shown_attention(site: SiteAttention) -> Attention | PooledAttention:
    """Return the weights of a site of one example, pooled if it is long."""
    return pooled_attention(site) if is_long(site) else captured_attention(site)


def pooled_attention(site: SiteAttention, example: int = 0) -> PooledAttention:
    """Pool a site to at most POOLED x POOLED blocks, some rows at a time."""
    _, heads, rows, columns = site.shape
    down, across = min(POOLED, rows), min(POOLED, columns)
    edges = [i * rows // down for i in range(down + 1)]
    starts = np.arange(across) * columns // across
    maxima = np.zeros((heads, down, across), np.float32)
    step = max(1, ROWS // max(1, rows // down))
    row_maxima = getattr(site, "row_maxima", None)
    for first in range(0, down, step):
        last = min(down, first + step)
        if row_maxima is not None:
            bands = row_maxima(example, edges[first : last + 1])
        else:
            weights = site.rows(example, range(edges[first], edges[last]))
            bands = np.maximum.reduceat(weights, np.array(edges[first:last]) - edges[first], axis=1)
        maxima[:, first:last] = np.maximum.reduceat(bands, starts, axis=2)
    return PooledAttention(site, example, maxima)
