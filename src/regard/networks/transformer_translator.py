"""A translator: the Transformer encoder-decoder (Vaswani et al. 2017), with LayerNorm first."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor, nn

from regard.networks.decoder import LayerPast, TransformerDecoder
from regard.networks.greedy import greedy
from regard.networks.transformer import TransformerEncoder, sinusoids
from regard.networks.vocabulary import PAD
from regard.records import Json


class TransformerTranslator(nn.Module):
    """Source tokens (batch, n), target tokens so far (batch, m) -> logits of the next (batch, m, target words).

    >>> import torch
    >>> network = TransformerTranslator(source_words=9, target_words=7, size=8, heads=2).eval()
    >>> network(torch.tensor([[5, 6, 0]]), torch.tensor([[3, 5]])).shape
    torch.Size([1, 2, 7])
    """

    name = "transformer_translator"

    def __init__(
        self,
        *,
        source_words: int,
        target_words: int,
        size: int = 64,
        heads: int = 4,
        layers: int = 2,
        dropout: float = 0.1,
        norm_first: bool = True,
    ) -> None:
        super().__init__()
        self.config: dict[str, Json] = {
            "source_words": source_words,
            "target_words": target_words,
            "size": size,
            "heads": heads,
            "layers": layers,
            "dropout": dropout,
            "norm_first": norm_first,
        }
        self.source_embedding = nn.Embedding(source_words, size, padding_idx=PAD)
        self.target_embedding = nn.Embedding(target_words, size, padding_idx=PAD)
        for embedding in (self.source_embedding, self.target_embedding):
            nn.init.normal_(embedding.weight, std=size**-0.5)
        self.encoder = TransformerEncoder(size, heads, layers, dropout=dropout, norm_first=norm_first)
        self.decoder = TransformerDecoder(size, heads, layers, dropout=dropout, norm_first=norm_first)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(size, target_words)

    def forward(self, source: Tensor, target: Tensor, mask: Tensor | None = None) -> Tensor:
        """`target` begins with <start>. `mask` (batch, n) is False where the source must not be read."""
        mask = _readable(source, mask)
        return self.decode(target, self.encode(source, mask), mask)

    def encode(self, source: Tensor, mask: Tensor) -> Tensor:
        """Encode the source as states (batch, n, size)."""
        states: Tensor = self.encoder(self._placed(self.source_embedding(source), 0), mask)
        return states

    def decode(
        self, target: Tensor, memory: Tensor, mask: Tensor, past: Sequence[LayerPast] | None = None, before: int = 0
    ) -> Tensor:
        """Return logits (batch, m, words). With `past`, `target` holds the tokens after the first `before`."""
        x = self._placed(self.target_embedding(target), before)
        logits: Tensor = self.output(self.decoder(x, memory, mask, past))
        return logits

    def generate(self, source: Tensor, mask: Tensor | None = None, *, limit: int = 64) -> Tensor:
        """Decode greedily (batch, at most limit), up to and including <end>, with a key-value cache."""
        mask = _readable(source, mask)
        memory, past, steps = self.encode(source, mask), self.decoder.fresh(), 0

        def step(last: Tensor) -> Tensor:
            nonlocal steps
            steps += 1
            return self.decode(last, memory, mask, past, steps - 1)[:, -1]

        return greedy(step, len(source), limit, device=source.device)

    def _placed(self, x: Tensor, before: int) -> Tensor:
        size = x.shape[2]
        placed: Tensor = self.dropout(x * math.sqrt(size) + sinusoids(before + x.shape[1], size, like=x)[before:])
        return placed


def _readable(source: Tensor, mask: Tensor | None) -> Tensor:
    real = source != PAD
    return real if mask is None else real & mask.bool()
