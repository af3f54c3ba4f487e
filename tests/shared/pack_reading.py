"""Packs read back into arrays: the weights and the relevances as a viewer gets them."""

from __future__ import annotations

import gzip

import numpy as np
from numpy.typing import NDArray

from regard.present.pack.records import Pack, SiteEntry
from regard.present.pack.weights import TILE


def head_weights(pack: Pack, example: int, site: int, head: int) -> NDArray[np.float32]:
    """(query, key) weights of one head as they are stored: within `SiteEntry.error` of the true ones."""
    entry = pack.manifest.examples[example].sites[site]
    if head not in entry.full:
        raise KeyError(f"head {head} of {entry.key}: only a pooled version")
    packed = _bytes(pack, entry, f"{example}/{site}", head)
    squared: NDArray[np.float32] = np.float32(entry.tops[head]) * (packed.astype(np.float32) / np.float32(255)) ** 2
    return squared


def relevance_of(pack: Pack, example: int) -> NDArray[np.float32]:
    """(methods, units) of one example."""
    units = len(pack.manifest.examples[example].units.names)
    return np.frombuffer(gzip.decompress(pack.chunks[f"{example}/relevance"]), "<f4").reshape(-1, units)


def _bytes(pack: Pack, entry: SiteEntry, prefix: str, head: int) -> NDArray[np.uint8]:
    def chunk(name: str) -> NDArray[np.uint8]:
        return np.frombuffer(gzip.decompress(pack.chunks[f"{prefix}/{name}"]), np.uint8)

    if entry.storage == "whole":
        whole: NDArray[np.uint8] = chunk("all").reshape(entry.heads, entry.rows, entry.columns)[head]
        return whole
    if entry.storage == "heads":
        return chunk(str(head)).reshape(entry.rows, entry.columns)
    out = np.zeros((entry.rows, entry.columns), np.uint8)
    for r in range(0, entry.rows, TILE):
        for c in range(0, entry.columns, TILE):
            part = out[r : r + TILE, c : c + TILE]
            part[:] = chunk(f"{head}/0/{r // TILE}/{c // TILE}").reshape(part.shape)
    return out
