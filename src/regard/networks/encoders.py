"""Encoders: word vectors (batch, n, size) -> states (batch, n, width), one per time step.

`real` (batch, n) is False on padding; `mask` (batch, n) is True where attention may read. Padding does not change the
states: each text of a batch gets the states it would have alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import torch
from torch import Tensor, nn

from regard.networks.transformer import TransformerEncoder, sinusoids


class Bidirectional(nn.Module):
    """A forward and a backward LSTM or GRU, side by side (Schuster & Paliwal 1997): width 2 x hidden.

    The backward network reads every text reversed *within its own length*, so padding comes after the words for both;
    this is exact, and trains faster than packed sequences.
    """

    def __init__(self, size: int, hidden: int, *, cell: Literal["lstm", "gru"] = "lstm") -> None:
        super().__init__()
        self.width = 2 * hidden
        kind = nn.LSTM if cell == "lstm" else nn.GRU
        self.ahead = kind(size, hidden, batch_first=True)
        self.back = kind(size, hidden, batch_first=True)

    def forward(self, x: Tensor, real: Tensor, mask: Tensor) -> Tensor:
        lengths = real.sum(1, keepdim=True)
        steps = torch.arange(x.shape[1], device=x.device)
        mirror = torch.where(steps < lengths, lengths - 1 - steps, steps).unsqueeze(-1)
        ahead, _ = self.ahead(x)
        back, _ = self.back(x.gather(1, mirror.expand(-1, -1, x.shape[2])))
        return torch.cat([ahead, back.gather(1, mirror.expand(-1, -1, back.shape[2]))], dim=-1)


class Convolution(nn.Module):
    """Convolution over five neighbouring words: width 2 x hidden."""

    def __init__(self, size: int, hidden: int) -> None:
        super().__init__()
        self.width = 2 * hidden
        self.convolution = nn.Conv1d(size, self.width, kernel_size=5, padding=2)

    def forward(self, x: Tensor, real: Tensor, mask: Tensor) -> Tensor:
        clean = x.masked_fill(~real.unsqueeze(-1), 0.0)
        return torch.relu(self.convolution(clean.transpose(1, 2)).transpose(1, 2))


class Average(nn.Module):
    """Encoder without context: projects each word by itself ("average" of Jain & Wallace 2019): width 2 x hidden."""

    def __init__(self, size: int, hidden: int) -> None:
        super().__init__()
        self.width = 2 * hidden
        self.projection = nn.Linear(size, self.width)

    def forward(self, x: Tensor, real: Tensor, mask: Tensor) -> Tensor:
        return torch.tanh(self.projection(x))


class Transformer(nn.Module):
    """Two Transformer layers of four heads over the words and their positions: width 2 x hidden."""

    def __init__(self, size: int, hidden: int) -> None:
        super().__init__()
        self.width = 2 * hidden
        self.projection = nn.Linear(size, self.width)
        self.encoder = TransformerEncoder(self.width, heads=4, layers=2)

    def forward(self, x: Tensor, real: Tensor, mask: Tensor) -> Tensor:
        placed = self.projection(x) + sinusoids(x.shape[1], self.width, like=x)
        states: Tensor = self.encoder(placed, mask)
        return states


ENCODERS: Mapping[str, Callable[[int, int], Bidirectional | Convolution | Average | Transformer]] = {
    "bilstm": Bidirectional,
    "cnn": Convolution,
    "average": Average,
    "transformer": Transformer,
}
"""Name -> (size of a word vector, hidden size) -> module with a `width`."""
