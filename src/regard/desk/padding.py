"""Separate the attention of a padded batch into that of each example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.protocols import SiteAttention, WeightSlopes
from regard.records import Attention, Site


@dataclass(frozen=True, slots=True, eq=False)
class RowOf:
    """Implements `protocols.SiteAttention`: one example of a batch of examples of one length."""

    whole: SiteAttention
    row: int

    @property
    def site(self) -> Site:
        return self.whole.site

    @property
    def shape(self) -> tuple[int, int, int, int]:
        return (1, *self.whole.shape[1:])

    def rows(self, example: int, queries: Sequence[int], heads: Sequence[int] | None = None) -> NDArray[np.float32]:
        return self.whole.rows(self.row + example, queries, heads)

    def dense(self) -> Attention:
        own = getattr(self.whole, "dense_of", None)
        if own is not None:
            attention: Attention = own(self.row)
            return attention
        everything = self.whole.dense()
        here = slice(self.row, self.row + 1)
        sink = None if everything.sink is None else everything.sink[here].copy()
        # a copy: a view would hold the weights of the whole batch
        return Attention(everything.site, everything.weights[here].copy(), sink, everything.checked)


@dataclass(frozen=True, slots=True, eq=False)
class DenseSite:
    """Implements `protocols.SiteAttention` over weights in memory: (batch, head, query, key)."""

    attention: Attention

    @property
    def site(self) -> Site:
        return self.attention.site

    @property
    def shape(self) -> tuple[int, int, int, int]:
        return self.attention.shape

    def rows(self, example: int, queries: Sequence[int], heads: Sequence[int] | None = None) -> NDArray[np.float32]:
        weights: NDArray[np.float32] = self.attention.weights[example][:, list(queries)]
        return weights if heads is None else np.asarray(weights[list(heads)])

    def dense(self) -> Attention:
        return self.attention


def unpadded_sites(sites: Sequence[Attention], lengths: Sequence[int]) -> list[Sequence[SiteAttention]] | None:
    """Return the sites of each example of a padded batch, without padding; None unless all padding is at the end."""
    examples: list[Sequence[SiteAttention]] = []
    for row, length in enumerate(lengths):
        own = []
        for whole in sites:
            weights = whole.weights[row : row + 1]
            if whole.shape[3] != max(lengths) or weights[..., length:].any():
                return None
            sink = None if whole.sink is None else whole.sink[row : row + 1]
            own.append(DenseSite(Attention(whole.site, np.array(weights[..., :length]), sink, whole.checked)))
        examples.append(own)
    return examples


def unpadded_gradients(
    batch: Sequence[Sequence[WeightSlopes]], lengths: Sequence[int]
) -> Sequence[Sequence[WeightSlopes]] | None:
    """Return the gradients of each example of a padded batch, unpadded; None unless all padding is at the end."""
    if len(set(lengths)) <= 1:
        return batch
    widest = max(lengths)
    for slopes, length in zip(batch, lengths, strict=True):
        if any(s.weights.shape[-1] != widest or s.weights[..., length:].any() for s in slopes):
            return None
    return [
        [WeightSlopes(s.site, s.weights[..., :length], s.gradient[..., :length]) for s in slopes]
        for slopes, length in zip(batch, lengths, strict=True)
    ]
