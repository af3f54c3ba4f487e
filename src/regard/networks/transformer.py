"""The Transformer encoder (Vaswani et al. 2017), written out to be readable and easy to instrument.

Every attention is a plain softmax followed by a matrix product. With copied weights it agrees with
`nn.MultiheadAttention`, `nn.TransformerEncoderLayer` and `nn.TransformerEncoder`. The decoder is in `decoder`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.errors import InputError, UnknownName, phrase
from regard.networks.scores import masked_softmax, scaled_dot


@dataclass(slots=True)
class Past:
    """Key-value cache of one attention, (batch, head, n, width) each; None before the first step."""

    keys: Tensor | None = None
    values: Tensor | None = None

    def grown(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Append the keys and values of new positions and return all."""
        if self.keys is not None and self.values is not None:
            keys, values = torch.cat([self.keys, keys], dim=2), torch.cat([self.values, values], dim=2)
        self.keys, self.values = keys, values
        return keys, values


class MultiHeadAttention(nn.Module):
    """Multi-head attention: (batch, q, size) -> (batch, q, size).

    heads_are: "concatenated", each of width size / heads (Vaswani et al. 2017), or "averaged", each of the full width
    (Velickovic et al. 2018). `memory` (batch, k, size) supplies keys and values; without it, this is self-attention.
    `mask`: True where a key is readable, (batch, k) or (batch or 1, q, k). With `past`, self-attention also reads the
    cached positions, and cross-attention computes the keys and values of its memory only once.

    >>> MultiHeadAttention(8, 2, heads_are="averaged")(torch.zeros(1, 3, 8)).shape
    torch.Size([1, 3, 8])
    """

    def __init__(
        self, size: int, heads: int, *, heads_are: Literal["concatenated", "averaged"] = "concatenated"
    ) -> None:
        super().__init__()
        if heads_are not in ("concatenated", "averaged"):
            raise UnknownName("heads_are", heads_are, ("concatenated", "averaged"))
        self.averaged = heads_are == "averaged"
        if size % heads and not self.averaged:
            raise InputError(
                phrase("errors.networks.multi_head_attention"),
                expected=phrase("errors.networks.size_that_heads_divide", heads=heads),
                got=str(size),
            )
        self.heads = heads
        inside = heads * size if self.averaged else size
        self.query = nn.Linear(size, inside)
        self.key = nn.Linear(size, inside)
        self.value = nn.Linear(size, inside)
        self.output = nn.Linear(size, size)

    def forward(
        self, x: Tensor, memory: Tensor | None = None, mask: Tensor | None = None, past: Past | None = None
    ) -> Tensor:
        query = self._split(self.query(x))
        key, value = self._read(x, memory, past)
        if mask is not None:
            mask = mask[:, None, None, :] if mask.dim() == 2 else mask[:, None]
        weights = masked_softmax(scaled_dot(query, key), mask)
        context = weights @ value
        together = context.mean(1) if self.averaged else context.transpose(1, 2).flatten(2)
        out: Tensor = self.output(together)
        return out

    def _read(self, x: Tensor, memory: Tensor | None, past: Past | None) -> tuple[Tensor, Tensor]:
        """Keys and values, (batch, head, k, width)."""
        if memory is not None and past is not None and past.keys is not None and past.values is not None:
            return past.keys, past.values
        read = x if memory is None else memory
        key, value = self._split(self.key(read)), self._split(self.value(read))
        return (key, value) if past is None else past.grown(key, value)

    def _split(self, x: Tensor) -> Tensor:
        """(batch, n, heads x width) -> (batch, head, n, width)"""
        return x.reshape(*x.shape[:2], self.heads, -1).transpose(1, 2)


def feed_forward(x: Tensor, inner: nn.Module, outer: nn.Module, dropout: nn.Module) -> Tensor:
    """Feed-forward part of a layer, without its residual connection."""
    out: Tensor = dropout(outer(dropout(F.relu(inner(x)))))
    return out


class TransformerLayer(nn.Module):
    """Attention and a feed-forward network, each with a residual connection and LayerNorm.

    `norm_first`: LayerNorm before each part (Xiong et al. 2020; trains without warm-up) or after it (the original).
    """

    def __init__(self, size: int, heads: int, *, hidden: int, dropout: float = 0.1, norm_first: bool = True) -> None:
        super().__init__()
        self.norm_first = norm_first
        self.attention = MultiHeadAttention(size, heads)
        self.inner = nn.Linear(size, hidden)
        self.outer = nn.Linear(hidden, size)
        self.norm_attention = nn.LayerNorm(size)
        self.norm_feed = nn.LayerNorm(size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        if self.norm_first:
            x = x + self.dropout(self.attention(self.norm_attention(x), mask=mask))
            return x + self._feed(self.norm_feed(x))
        x = self.norm_attention(x + self.dropout(self.attention(x, mask=mask)))
        out: Tensor = self.norm_feed(x + self._feed(x))
        return out

    def _feed(self, x: Tensor) -> Tensor:
        return feed_forward(x, self.inner, self.outer, self.dropout)


class LayerStack(nn.Module):
    """Layers of one kind, with a final LayerNorm if `norm_first`."""

    kind: type[nn.Module]

    def __init__(
        self,
        size: int,
        heads: int,
        layers: int,
        *,
        hidden: int | None = None,
        dropout: float = 0.1,
        norm_first: bool = True,
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            self.kind(size, heads, hidden=hidden or 2 * size, dropout=dropout, norm_first=norm_first)
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(size) if norm_first else nn.Identity()


class TransformerEncoder(LayerStack):
    """A stack of layers, (batch, n, size) -> (batch, n, size)."""

    kind = TransformerLayer

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        for layer in self.layers:
            x = layer(x, mask)
        out: Tensor = self.norm(x)
        return out


def sinusoids(length: int, size: int, *, like: Tensor) -> Tensor:
    """Sinusoidal position encoding (Vaswani et al. 2017), (length, size).

    >>> sinusoids(2, 4, like=torch.zeros(1))[0]
    tensor([0., 1., 0., 1.])
    """
    pairs = (size + 1) // 2
    rates = torch.exp(torch.arange(pairs, device=like.device, dtype=torch.float64) * (-math.log(10_000.0) / pairs))
    angles = torch.arange(length, device=like.device, dtype=torch.float64)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :size].to(like.dtype)


class ClassToken(nn.Module):
    """Prepend one learned vector to every sequence: (batch, n, size) -> (batch, n + 1, size)."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.vector = nn.Parameter(torch.randn(size) * 0.02)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([self.vector.expand(x.shape[0], 1, -1), x], dim=1)


class Standardise(nn.Module):
    """(x - mean) / scale with the statistics of the training data, stored with the weights.

    So the network takes inputs in the units of the user: pixels, kilowatts, millimetres.
    """

    mean: Tensor
    scale: Tensor

    def __init__(self, *shape: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(shape))
        self.register_buffer("scale", torch.ones(shape))

    def learn(self, data: Tensor) -> None:
        """Set mean and standard deviation over all axes of `data` that the statistics broadcast along."""
        axes = [
            i for i in range(data.dim()) if i < data.dim() - self.mean.dim() or self.mean.shape[i - data.dim()] == 1
        ]
        mean = data.mean(dim=axes)
        scale = data.std(dim=axes, unbiased=False)
        self.mean.copy_(mean.reshape(self.mean.shape))
        # do not divide a constant feature by its zero spread
        self.scale.copy_(torch.where(scale > 0, scale, torch.ones_like(scale)).reshape(self.scale.shape))

    def forward(self, x: Tensor) -> Tensor:
        return (x - self.mean) / self.scale
