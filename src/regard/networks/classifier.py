"""The classifier of the attention-as-explanation debate: encode the words, attend over time steps, decide."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from regard.errors import InputError, UnknownName
from regard.networks.encoders import ENCODERS
from regard.networks.scores import SCORES, make_score, masked_softmax
from regard.networks.vocabulary import PAD
from regard.records import Json


class Reading(NamedTuple):
    """What the classifier computed: logits (batch, classes), attention weights (batch, n), states (batch, n, width)."""

    logits: Tensor
    weights: Tensor
    states: Tensor


class AttentionPooling(nn.Module):
    """A learned query reads the states (batch, n, width): their weighted mean (batch, width), the weights (batch, n).

    queries: how many there are to choose from, one for each aspect. A module of its own, so that the attention has a
    name where it is looked at.
    """

    def __init__(self, score: str, width: int, hidden: int, queries: int = 1) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.randn(queries, width) / width**0.5)
        self.score = make_score(score, width, width, hidden)

    def forward(
        self, states: Tensor, mask: Tensor, aspect: Tensor | None = None, imposed: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        query = self.query.expand(len(states), 1, -1) if aspect is None else self.query[aspect].unsqueeze(1)
        given = () if imposed is None else (imposed.unsqueeze(1),)
        weights = masked_softmax(self.score(query, states, *given), mask.unsqueeze(1))
        return torch.bmm(weights, states).squeeze(1), weights.squeeze(1)


class AttentionClassifier(nn.Module):
    """Tokens (batch, n) -> logits (batch, classes), through attention over time steps.

    encoder: bilstm, cnn, average (no context), transformer. attention: dot, scaled_dot, cosine, additive, bilinear,
    uniform, frozen (the weights are given with every call). The query is one learned vector (Yang et al. 2016; with
    `additive` this is the classifier of Jain & Wallace 2019 and Wiegreffe & Pinter 2019, whose query is absorbed in a
    bias). aspects: so many different questions about a text, each with a query, and so an attention map, of its own
    (Wang et al. 2016, with the aspect in the query alone).

    >>> network = AttentionClassifier(words=10, classes=2, size=4, hidden=4).eval()
    >>> network(torch.tensor([[3, 4, 5], [6, 7, 0]])).shape
    torch.Size([2, 2])
    """

    name = "attention_classifier"

    def __init__(
        self,
        *,
        words: int,
        classes: int,
        encoder: str = "bilstm",
        attention: str = "additive",
        size: int = 100,
        hidden: int = 64,
        dropout: float = 0.5,
        aspects: int = 0,
    ) -> None:
        super().__init__()
        if encoder not in ENCODERS:
            raise UnknownName("encoder", encoder, ENCODERS)
        if attention not in SCORES:
            raise UnknownName("attention", attention, SCORES)
        self.config: dict[str, Json] = {
            "words": words,
            "classes": classes,
            "encoder": encoder,
            "attention": attention,
            "size": size,
            "hidden": hidden,
            "dropout": dropout,
            "aspects": aspects,
        }
        self.embedding = nn.Embedding(words, size, padding_idx=PAD)
        self.encoder = ENCODERS[encoder](size, hidden)
        width = self.encoder.width
        self.attention = AttentionPooling(attention, width, hidden, max(1, aspects))
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(width, classes)

    def forward(
        self,
        tokens: Tensor,
        mask: Tensor | None = None,
        aspect: Tensor | None = None,
        imposed: Tensor | None = None,
    ) -> Tensor:
        """`mask` (batch, n) is False where attention must not read; padding (token 0) never is read.

        `aspect` (batch,): which question is asked; needed if there are aspects. `imposed` (batch, n): the weights;
        needed if attention is frozen.
        """
        return self.read(tokens, mask, aspect, imposed).logits

    def read(
        self,
        tokens: Tensor,
        mask: Tensor | None = None,
        aspect: Tensor | None = None,
        imposed: Tensor | None = None,
    ) -> Reading:
        """The logits together with what led to them, in the graph: for losses that speak of attention."""
        self._check(aspect, imposed)
        real = tokens != PAD
        mask = real if mask is None else real & mask.bool()
        states = self.encoder(self.dropout(self.embedding(tokens)), real, mask)
        context, weights = self.attention(states, mask, aspect, imposed)
        return Reading(self.output(self.dropout(context)), weights, states)

    def _check(self, aspect: Tensor | None, imposed: Tensor | None) -> None:
        wanted = {"aspect": bool(self.config["aspects"]), "imposed": self.config["attention"] == "frozen"}
        for name, given in (("aspect", aspect), ("imposed", imposed)):
            if (given is not None) != wanted[name]:
                raise InputError(
                    f"{name} of an attention classifier",
                    expected="a tensor with every call" if wanted[name] else "none",
                    got="none" if given is None else str(tuple(given.shape)),
                )
