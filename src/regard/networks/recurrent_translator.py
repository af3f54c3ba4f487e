"""A translator: recurrent encoder and decoder with additive attention between them (Bahdanau et al. 2015)."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from regard.errors import UnknownName
from regard.networks.encoders import Bidirectional
from regard.networks.greedy import greedy
from regard.networks.scores import make_score, masked_softmax
from regard.networks.vocabulary import PAD
from regard.records import Json

State = Tensor | tuple[Tensor, Tensor]
"""State of a GRU, or of an LSTM: (1, batch, width) each."""


class CrossAttention(nn.Module):
    """Queries (batch, m, d) read a memory (batch, n, width): contexts (batch, m, width), weights (batch, m, n)."""

    def __init__(self, score: str, query_size: int, key_size: int, hidden: int) -> None:
        super().__init__()
        self.score = make_score(score, query_size, key_size, hidden)

    def forward(self, query: Tensor, memory: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """`mask` (batch, n) is True where the memory may be read."""
        weights = masked_softmax(self.score(query, memory), mask.unsqueeze(1))
        return torch.bmm(weights, memory), weights


class RecurrentTranslator(nn.Module):
    """Source tokens (batch, n), target tokens so far (batch, m) -> logits of the next (batch, m, target words).

    cell: gru or lstm. The state *after* a token is the query (as in Luong et al. 2015), not the one before it, so one
    pass computes all steps of a known target, and the attention of a text is one matrix.

    >>> network = RecurrentTranslator(source_words=9, target_words=7, size=8, hidden=4).eval()
    >>> network(torch.tensor([[5, 6, 0]]), torch.tensor([[3, 5]])).shape
    torch.Size([1, 2, 7])
    """

    name = "recurrent_translator"

    def __init__(
        self,
        *,
        source_words: int,
        target_words: int,
        cell: Literal["gru", "lstm"] = "gru",
        attention: str = "additive",
        size: int = 64,
        hidden: int = 64,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        if cell not in ("gru", "lstm"):
            raise UnknownName("cell", cell, ("gru", "lstm"))
        self.config: dict[str, Json] = {
            "source_words": source_words,
            "target_words": target_words,
            "cell": cell,
            "attention": attention,
            "size": size,
            "hidden": hidden,
            "dropout": dropout,
        }
        width = 2 * hidden
        self.source_embedding = nn.Embedding(source_words, size, padding_idx=PAD)
        self.target_embedding = nn.Embedding(target_words, size, padding_idx=PAD)
        self.encoder = Bidirectional(size, hidden, cell=cell)
        self.start = nn.Linear(width, width)
        self.decoder = (nn.GRU if cell == "gru" else nn.LSTM)(size, width, batch_first=True)
        self.attention = CrossAttention(attention, width, width, hidden)
        self.join = nn.Linear(2 * width, width)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(width, target_words)

    def forward(self, source: Tensor, target: Tensor, mask: Tensor | None = None) -> Tensor:
        """`target` begins with <start>. `mask` (batch, n) is False where attention must not read the source."""
        memory, mask = self.encode(source, mask)
        return self.decode(target, memory, mask, self.first_state(source, memory))[0]

    def encode(self, source: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Encode the source as states (batch, n, 2 x hidden), with a mask (batch, n) of the readable ones."""
        real = source != PAD
        states = self.encoder(self.dropout(self.source_embedding(source)), real, real)
        return self.dropout(states), real if mask is None else real & mask.bool()

    def first_state(self, source: Tensor, memory: Tensor) -> State:
        """Initial state of the decoder, from the last states of both directions of the encoder."""
        half = memory.shape[2] // 2
        last = ((source != PAD).sum(1) - 1).clamp(min=0)[:, None, None].expand(-1, 1, half)
        ends = torch.cat([memory[:, :, :half].gather(1, last), memory[:, :1, half:]], dim=2)
        state = torch.tanh(self.start(ends)).transpose(0, 1).contiguous()
        return state if isinstance(self.decoder, nn.GRU) else (state, torch.zeros_like(state))

    def decode(self, target: Tensor, memory: Tensor, mask: Tensor, state: State) -> tuple[Tensor, State]:
        """Return logits (batch, m, words) and the state after the last token of `target`."""
        states, state = self.decoder(self.dropout(self.target_embedding(target)), state)
        context, _ = self.attention(states, memory, mask)
        joined = torch.tanh(self.join(torch.cat([states, context], dim=2)))
        return self.output(self.dropout(joined)), state

    def generate(self, source: Tensor, mask: Tensor | None = None, *, limit: int = 64) -> Tensor:
        """Decode greedily (batch, at most limit), up to and including <end>, carrying the state."""
        memory, mask = self.encode(source, mask)
        readable, state = mask, self.first_state(source, memory)

        def step(last: Tensor) -> Tensor:
            nonlocal state
            logits, state = self.decode(last, memory, readable, state)
            return logits[:, -1]

        return greedy(step, len(source), limit, device=source.device)
