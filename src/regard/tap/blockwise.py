"""Site whose attention was computed in pieces (windows, blocks, bands), read as one (batch, head, query, key)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.records import Attention, Site, Text
from regard.tap.blocks import Pieces
from regard.tap.sdpa import scores_of, weights_of
from regard.tap.site_attention import DenseAttention, LazyAttention, Real, as_array, attention_text, record, rows_of


@dataclass(slots=True, eq=False)
class PiecedAttention:
    """Attention in pieces: looks rows up in their piece on request; all other weights are 0."""

    inner: LazyAttention | DenseAttention
    pieces: Pieces
    real: Real
    _found: tuple[Tensor, Tensor] | None = field(default=None)

    def __repr__(self) -> str:
        return attention_text(self)

    @property
    def site(self) -> Site:
        return self.inner.site

    @property
    def checked(self) -> Text:
        return self.inner.checked

    @checked.setter
    def checked(self, how: Text) -> None:
        self.inner.checked = how

    @property
    def shape(self) -> tuple[int, int, int, int]:
        n = self.pieces.positions
        return self.pieces.batch, self.inner.shape[1], n, n

    @torch.no_grad()
    def weights(self, example: int, rows: Tensor, heads: Tensor | None = None) -> Tensor:
        """(head, row, key) in float32 or wider; padding not zeroed."""
        if self._found is None:
            self._found = self.pieces.found()
        piece_of, row_of = (t[example][rows.cpu()] for t in self._found)
        out: Tensor | None = None
        for piece in sorted(set(piece_of.tolist())):
            if piece < 0:
                continue
            members = (piece_of == piece).nonzero()[:, 0]
            part = self.inner.weights(piece, row_of[members], heads)
            if out is None:
                out = part.new_zeros(part.shape[0], len(rows), self.pieces.positions + 1)
            keys = self.pieces.key_at[piece].expand(self.inner.shape[2], -1)[row_of[members]]
            keys = keys.masked_fill(keys < 0, self.pieces.positions).to(part.device)
            out[:, members.to(part.device)] = out[:, members.to(part.device)].scatter(-1, keys.expand_as(part), part)
        if out is None:
            return torch.zeros(self.shape[1] if heads is None else len(heads), len(rows), self.pieces.positions)
        return out[..., :-1]

    def rows(self, example: int, queries: Sequence[int], heads: Sequence[int] | None = None) -> NDArray[np.float32]:
        return rows_of(self, example, queries, heads)

    def whole(self) -> DenseAttention:
        """Return all weights at once, in the model's data type and on its device."""
        inner = self.inner
        weights = inner.held if isinstance(inner, DenseAttention) else weights_of(inner.call, scores_of(inner.call))
        return DenseAttention(self.site, self.pieces.spread(weights), self.real, checked=self.checked)

    def dense(self) -> Attention:
        return self._dense(range(self.shape[0]), self.real)

    def dense_of(self, example: int) -> Attention:
        """All weights of one example, a batch of one; those of the others are not computed."""
        return self._dense(range(example, example + 1), self.real.of_example(example))

    def _dense(self, examples: range, real: Real) -> Attention:
        positions = torch.arange(self.shape[2])
        weights = np.stack([as_array(self.weights(b, positions)) for b in examples])
        # what fell on the padding around a picture is kept as a sink
        sink = np.maximum(0.0, 1.0 - weights.sum(-1)) if self.pieces.leaks else None
        return record(self.site, weights, sink, real, self.checked)
