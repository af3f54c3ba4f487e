"""A decoder with weights set by hand that writes a row of digits backwards: exact, exclusive cross-attention."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.networks.classifier import Reading
from regard.networks.scores import masked_softmax
from regard.planted.wiring.wired_network import WiredNetwork, real_tokens
from regard.planted.wiring.word_table import word_table

EXACT = 12.0


class CrossAttention(nn.Module):
    """Steps (batch, m), counted from the end, read evidence (batch, n, classes): (batch, m, classes), weights."""

    def forward(
        self, steps: Tensor, evidence: Tensor, real: Tensor, imposed: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        places = torch.arange(evidence.shape[1], dtype=evidence.dtype, device=evidence.device)
        target_places = (real.sum(1, keepdim=True) - 1).to(evidence.dtype) - steps
        scores = -EXACT * (places[None, None] - target_places.unsqueeze(-1)).abs()
        open_keys = real & (places > 0)  # the first token names the step
        weights = masked_softmax(scores, open_keys.unsqueeze(1)) if imposed is None else imposed
        return weights @ evidence, weights


class Reverser(WiredNetwork):
    """Tokens (batch, 1 + n), the step first, then digits, -> logits (batch, classes) of the digit due at that step.

    A word vector is (step, evidence by class). rows: number of steps computed at once; 1: only the current one, else
    all of them, of which the answer reads one.
    """

    def __init__(self, vectors: Tensor, classes: int, *, sure: float, rows: int = 1) -> None:
        super().__init__()
        self.embedding = word_table(vectors)
        self.attention = CrossAttention()
        self.classes, self.sure, self.rows = classes, sure, rows

    def read(
        self, tokens: Tensor, mask: Tensor | None = None, types: Tensor | None = None, imposed: Tensor | None = None
    ) -> Reading:
        real = real_tokens(tokens, mask)
        words = self.embedding(tokens)
        due = words[:, 0, :1].detach()
        steps = due if self.rows == 1 else torch.arange(self.rows, device=due.device).to(due.dtype).expand(len(due), -1)
        row = torch.zeros_like(due).long() if self.rows == 1 else due.long().clamp(0, self.rows - 1)
        every = None if imposed is None else imposed.unsqueeze(1).expand(-1, self.rows, -1)
        context, weights = self.attention(steps, words[..., 1:], real, every)
        picked = row.unsqueeze(-1)
        read = context.gather(1, picked.expand(-1, 1, self.classes)).squeeze(1)
        return Reading(self.sure * read, weights.gather(1, picked.expand(-1, 1, weights.shape[2])).squeeze(1), words)
