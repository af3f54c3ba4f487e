"""The Transformer decoder: generates token by token from its own output and a source.

With copied weights it agrees with `nn.TransformerDecoderLayer`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from regard.networks.transformer import LayerStack, MultiHeadAttention, Past, feed_forward


@dataclass(slots=True)
class LayerPast:
    """Key-value cache of one decoder layer: its own positions and the source."""

    own: Past = field(default_factory=Past)
    source: Past = field(default_factory=Past)


class DecoderLayer(nn.Module):
    """Causal self-attention, cross-attention to a source, a feed-forward network; each with residual and LayerNorm.

    `norm_first`: LayerNorm before each part or after it (the original).
    """

    def __init__(self, size: int, heads: int, *, hidden: int, dropout: float = 0.1, norm_first: bool = True) -> None:
        super().__init__()
        self.norm_first = norm_first
        self.attention = MultiHeadAttention(size, heads)
        self.cross = MultiHeadAttention(size, heads)
        self.inner = nn.Linear(size, hidden)
        self.outer = nn.Linear(hidden, size)
        self.norm_attention = nn.LayerNorm(size)
        self.norm_cross = nn.LayerNorm(size)
        self.norm_feed = nn.LayerNorm(size)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None = None,
        source_mask: Tensor | None = None,
        past: LayerPast | None = None,
    ) -> Tensor:
        """`mask` (1 or batch, q, k) is True where a position may read its own text; `source_mask` (batch, n): a source.

        With `past`, `x` holds the new positions only.
        """
        own, source = (None, None) if past is None else (past.own, past.source)
        if self.norm_first:
            x = x + self.dropout(self.attention(self.norm_attention(x), mask=mask, past=own))
            x = x + self.dropout(self.cross(self.norm_cross(x), memory, source_mask, past=source))
            return x + self._feed(self.norm_feed(x))
        x = self.norm_attention(x + self.dropout(self.attention(x, mask=mask, past=own)))
        x = self.norm_cross(x + self.dropout(self.cross(x, memory, source_mask, past=source)))
        out: Tensor = self.norm_feed(x + self._feed(x))
        return out

    def _feed(self, x: Tensor) -> Tensor:
        return feed_forward(x, self.inner, self.outer, self.dropout)


class TransformerDecoder(LayerStack):
    """A stack of decoder layers: target (batch, m, size), source (batch, n, size) -> (batch, m, size)."""

    kind = DecoderLayer

    def forward(
        self, x: Tensor, memory: Tensor, source_mask: Tensor | None = None, past: Sequence[LayerPast] | None = None
    ) -> Tensor:
        """Decode `x`; with `past` (see `fresh`), `x` holds only the new positions."""
        before = 0 if not past or past[0].own.keys is None else past[0].own.keys.shape[2]
        mask = causal(x.shape[1], before, device=x.device)
        for i, layer in enumerate(self.layers):
            x = layer(x, memory, mask, source_mask, None if past is None else past[i])
        out: Tensor = self.norm(x)
        return out

    def fresh(self) -> list[LayerPast]:
        """Create an empty cache for a new text."""
        return [LayerPast() for _ in self.layers]


def causal(new: int, before: int = 0, *, device: torch.device | None = None) -> Tensor:
    """Causal mask (1, new, before + new): True where a position may read, itself and earlier ones.

    >>> causal(2, 1)
    tensor([[[ True,  True, False],
             [ True,  True,  True]]])
    """
    return torch.ones(1, new, before + new, dtype=torch.bool, device=device).tril(before)
