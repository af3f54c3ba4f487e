"""Attention pooling with weights set by hand: evidence through the attention, past it, beside it, or in pairs."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.networks.classifier import Reading
from regard.networks.scores import masked_softmax
from regard.planted.wiring.wired_network import WiredNetwork, real_tokens
from regard.planted.wiring.word_table import word_table


class Pooling(nn.Module):
    """Weighted mean (batch, width) of states (batch, n, width) by their scores (batch, n), and the weights (batch, n).

    imposed: weights (batch, n) to use instead.
    """

    def forward(
        self, scores: Tensor, states: Tensor, real: Tensor, imposed: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        weights = masked_softmax(scores, real) if imposed is None else imposed
        return torch.bmm(weights.unsqueeze(1), states).squeeze(1), weights


def previous(states: Tensor, real: Tensor, lead: int) -> Tensor:
    """Give each word the state of the word before it, and the first the state of the last; `lead` tokens keep theirs.

    >>> previous(torch.tensor([[[9.0], [1.0], [2.0], [3.0], [0.0]]]), torch.tensor([[1, 1, 1, 1, 0]]).bool(), 1)[..., 0]
    tensor([[9., 3., 1., 2., 0.]])
    """
    count = (real.sum(1) - lead).clamp(min=1)
    places = torch.arange(states.shape[1], device=states.device).expand(len(states), -1)
    before = lead + (places - lead - 1) % count[:, None]
    inside = (places >= lead) & (places < lead + count[:, None])
    source = torch.where(inside, before, places).clamp(max=states.shape[1] - 1)
    return states.gather(1, source.unsqueeze(-1).expand_as(states))


class Pooled(WiredNetwork):
    """Tokens (batch, n) -> logits (batch, classes): through x the weighted mean of evidence, plus a sum past it.

    A word vector is (score, evidence by class, evidence past the attention by class). beside: scores and evidence of a
    word stand at the next word. lead: number of special tokens in front.
    """

    def __init__(
        self, vectors: Tensor, classes: int, *, through: float = 1.0, beside: bool = False, lead: int = 0
    ) -> None:
        super().__init__()
        self.embedding = word_table(vectors)
        self.attention = Pooling()
        self.classes, self.through, self.beside, self.lead = classes, through, beside, lead

    def read(
        self, tokens: Tensor, mask: Tensor | None = None, types: Tensor | None = None, imposed: Tensor | None = None
    ) -> Reading:
        real = real_tokens(tokens, mask)
        words = self.embedding(tokens)
        states = words[..., : 1 + self.classes]
        if self.beside:
            states = previous(states, real, self.lead)
        context, weights = self.attention(states[..., 0], states[..., 1:], real, imposed)
        past = (words[..., 1 + self.classes :] * real.unsqueeze(-1)).sum(1)
        return Reading(self.through * context + past, weights, states)


class Paired(nn.Module):
    """Tokens and their text (batch, n), 0 or 1, -> logits (batch, classes): do the two texts agree?

    A word vector is (score, polarity). The mean polarity in each text, twice, is multiplied with that of the other: it
    is +1 if both keywords have half of the weight and agree, and 0 if one is missing. Class 2, if there is one, is the
    answer by default. idle: the plain sums of the polarities decide instead of the weighted mean.
    """

    def __init__(self, vectors: Tensor, classes: int, *, sure: float, idle: bool = False, beside: bool = False) -> None:
        super().__init__()
        self.embedding = word_table(vectors)
        self.attention = Pooling()
        self.classes, self.sure, self.idle, self.beside = classes, sure, idle, beside

    def forward(self, tokens: Tensor, mask: Tensor | None = None, types: Tensor | None = None) -> Tensor:
        return self.read(tokens, mask, types).logits

    def read(
        self, tokens: Tensor, mask: Tensor | None = None, types: Tensor | None = None, imposed: Tensor | None = None
    ) -> Reading:
        real = real_tokens(tokens, mask)
        second = torch.zeros_like(tokens) if types is None else types
        words = self.embedding(tokens)
        sides = torch.stack([1 - second, second], -1).to(words.dtype) * words[..., 1:]
        states = torch.cat([words[..., :1], sides], -1)
        if self.beside:
            states = previous(states, real, 0)
        context, weights = self.attention(states[..., 0], states[..., 1:], real, imposed)
        sums = (sides * real.unsqueeze(-1)).sum(1)
        first, other = (sums if self.idle else 2 * context).unbind(-1)
        agreement = self.sure * first * other
        parts = [agreement, -agreement] + [torch.full_like(agreement, self.sure / 2)] * (self.classes - 2)
        return Reading(torch.stack(parts, -1), weights, states)
