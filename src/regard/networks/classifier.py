"""The classifier of the attention-as-explanation debate: encoder, attention over time steps, decision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from regard.errors import InputError, UnknownName, phrase
from regard.networks.encoders import ENCODERS
from regard.networks.scores import Frozen, make_score, masked_softmax
from regard.networks.vocabulary import PAD
from regard.records import Json
from regard.registry import names

DECISIONS = ("softmax", "sigmoid")


class Reading(NamedTuple):
    """Outputs of the classifier: logits (batch, classes), attention weights (batch, n), states (batch, n, width).

    real: (batch, n), False on padding; set if the tokens do not show it.
    """

    logits: Tensor
    weights: Tensor
    states: Tensor
    real: Tensor | None = None


class AttentionPooling(nn.Module):
    """A learned query reads the states (batch, n, width): their weighted mean (batch, width), the weights (batch, n).

    queries: number of queries, one per aspect. A separate module, so that the captured attention has a name.
    """

    def __init__(self, score: str, width: int, hidden: int, queries: int = 1) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.randn(queries, width) / width**0.5)
        self.score = make_score(score, width, width, hidden)

    def forward(self, states: Tensor, mask: Tensor, beside: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Pool the states. beside: the weights (batch, n) of a frozen score, else the number (batch,) of the query."""
        if beside is None:
            scores = self.score(self.query.expand(len(states), 1, -1), states)
        elif isinstance(self.score, Frozen):
            scores = self.score(self.query[:1], states, beside.unsqueeze(1))
        else:
            scores = self.score(self.query[beside].unsqueeze(1), states)
        weights = masked_softmax(scores, mask.unsqueeze(1))
        return torch.bmm(weights, states).squeeze(1), weights.squeeze(1)


class OneLogit(nn.Module):
    """Binary output with one free logit: states (batch, width) -> logits (batch, 2), the first always 0.

    It represents the same functions as two logits but learns at another speed, since both rows of a softmax move.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.side = nn.Linear(width, 1)

    def forward(self, context: Tensor) -> Tensor:
        return nn.functional.pad(self.side(context), (1, 0))

    @property
    def weight(self) -> Tensor:
        """(2, width), as that of a linear layer with two outputs."""
        return nn.functional.pad(self.side.weight, (0, 0, 1, 0))

    @property
    def bias(self) -> Tensor:
        """(2,)."""
        return nn.functional.pad(self.side.bias, (1, 0))


class AttentionClassifier(nn.Module):
    """Tokens (batch, n) -> logits (batch, classes), through attention over time steps.

    encoder: bilstm, cnn, average (no context), transformer. attention: dot, scaled_dot, cosine, additive, bilinear,
    uniform, frozen (the weights are given with every call). The query is one learned vector (Yang et al. 2016; with
    `additive` this is the classifier of Jain & Wallace 2019 and Wiegreffe & Pinter 2019, whose query is absorbed in a
    bias). aspects: so many different questions about a text, each with a query, and so an attention map, of its own
    (Wang et al. 2016, with the aspect in the query alone). decision: softmax, or sigmoid (one number for two classes).

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
        decision: str = "softmax",
    ) -> None:
        super().__init__()
        if encoder not in ENCODERS:
            raise UnknownName("encoder", encoder, ENCODERS)
        if attention not in names("score"):
            raise UnknownName("attention", attention, names("score"))
        self.config: dict[str, Json] = {
            "words": words,
            "classes": classes,
            "encoder": encoder,
            "attention": attention,
            "size": size,
            "hidden": hidden,
            "dropout": dropout,
            "aspects": aspects,
            "decision": decision,
        }
        if decision not in DECISIONS:
            raise UnknownName("decision", decision, DECISIONS)
        if decision == "sigmoid" and classes != 2:
            raise InputError("decision=sigmoid", expected=phrase("errors.common.two_classes"), got=str(classes))
        if aspects and attention == "frozen":
            expected = phrase("errors.networks.no_aspects_imposed_weights_need")
            raise InputError(phrase("errors.networks.frozen_attention"), expected=expected, got=f"aspects={aspects}")
        self.embedding = nn.Embedding(words, size, padding_idx=PAD)
        self.encoder = ENCODERS[encoder](size, hidden)
        width = self.encoder.width
        self.attention = AttentionPooling(attention, width, hidden, max(1, aspects))
        self.dropout = nn.Dropout(dropout)
        self.output = OneLogit(width) if decision == "sigmoid" else nn.Linear(width, classes)

    def forward(self, tokens: Tensor, beside: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        """`mask` (batch, n) is False where attention must not read; attention never reads padding (token 0).

        `beside` is the second input of a text: the number of its aspect (batch,) if there are aspects, its attention
        weights (batch, n) if attention is frozen.
        """
        return self.read(tokens, beside, mask).logits

    def read(self, tokens: Tensor, beside: Tensor | None = None, mask: Tensor | None = None) -> Reading:
        """Return logits, attention and states with their graph, for losses on attention."""
        if (beside is None) == self.asks:
            subject = phrase(
                "errors.networks.attention_classifier_with_aspects",
                attention=self.config["attention"],
                aspects=self.config["aspects"],
            )
            expected = (
                phrase("errors.networks.weights_or_aspect_beside_each")
                if self.asks
                else phrase("errors.networks.nothing_beside_text")
            )
            raise InputError(
                subject,
                expected=expected,
                got=phrase("errors.common.none") if beside is None else str(tuple(beside.shape)),
            )
        real = tokens != PAD
        mask = real if mask is None else real & mask.bool()
        states = self.encoder(self.dropout(self.embedding(tokens)), real, mask)
        return self._decided(states, mask, beside)

    def reread(self, states: Tensor, tokens: Tensor, beside: Tensor | None = None) -> Reading:
        """Recompute attention and decision from existing states, without running the encoder."""
        return self._decided(states, tokens != PAD, beside)

    def _decided(self, states: Tensor, mask: Tensor, beside: Tensor | None) -> Reading:
        context, weights = self.attention(states, mask, beside)
        return Reading(self.output(self.dropout(context)), weights, states)

    def vectors(self, tokens: Tensor, *beside: Tensor) -> Tensor:
        """Word vectors (batch, n, size), the input of the encoder."""
        vectors: Tensor = self.embedding(tokens)
        return vectors

    def real(self, tokens: Tensor, *beside: Tensor) -> Tensor:
        """Mask (batch, n), False on padding."""
        return tokens != PAD

    def places(self) -> Mapping[str, nn.Module]:
        """Modules whose outputs are the word vectors and the attention scores, where a perturbation can be added."""
        return {"inputs": self.embedding, "scores": self.attention.score}

    @property
    def asks(self) -> bool:
        """Return whether each text has a second input."""
        return bool(self.config["aspects"]) or self.config["attention"] == "frozen"
