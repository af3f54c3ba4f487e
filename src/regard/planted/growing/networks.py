"""Networks of planted models: attention over encoded words, and a bypass."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.networks.classifier import Reading
from regard.networks.encoders import Average, Bidirectional
from regard.networks.scores import make_score, masked_softmax
from regard.networks.vocabulary import PAD
from regard.planted.growing.recipe import Encoder, Recipe, Score

NEAR = 0.05


class Three(nn.Module):
    """Convolution over three neighbouring words."""

    def __init__(self, size: int, hidden: int) -> None:
        super().__init__()
        self.width = 2 * hidden
        self.convolution = nn.Conv1d(size, self.width, kernel_size=3, padding=1)

    def forward(self, x: Tensor, real: Tensor, mask: Tensor) -> Tensor:
        clean = x.masked_fill(~real.unsqueeze(-1), 0.0)
        return torch.tanh(self.convolution(clean.transpose(1, 2)).transpose(1, 2))


def _encoder(kind: Encoder, size: int) -> Average | Bidirectional | Three:
    if kind == "words":
        return Average(size, size)
    return Three(size, size) if kind == "three" else Bidirectional(size, size, cell="gru" if kind == "gru" else "lstm")


class Pooling(nn.Module):
    """Weighted mean (batch, width) of states (batch, n, width), and the weights (batch, n)."""

    def __init__(self, score: Score, width: int) -> None:
        super().__init__()
        self.kind = score
        learned = "additive" if score in ("near", "places", "place", "mean") else score
        self.query = nn.Parameter(torch.randn(1, width) / width**0.5)
        self.score = make_score(learned, width, width, width)

    def forward(self, states: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        if self.kind == "mean":  # one key, the mean of the states: the softmax runs over an axis of length one
            part = real.unsqueeze(-1).to(states.dtype)
            states = (states * part).sum(1, keepdim=True) / part.sum(1, keepdim=True).clamp(min=1)
            real = real[:, :1]
        weights = masked_softmax(self._scores(states), real)
        return torch.bmm(weights.unsqueeze(1), states).squeeze(1), weights

    def _scores(self, states: Tensor) -> Tensor:
        places = torch.arange(states.shape[1], dtype=states.dtype, device=states.device)
        if self.kind == "places":
            return torch.cos(2.0 * places).expand(states.shape[:2]) * 2.0
        if self.kind == "place":
            return torch.where(places == 2, 8.0, 0.0).expand(states.shape[:2])
        scores: Tensor = self.score(self.query.expand(len(states), 1, -1), states).squeeze(1)
        return NEAR * torch.tanh(scores) if self.kind == "near" else scores


class Planted(nn.Module):
    """Tokens (batch, n) -> logits (batch, classes).

    The answer is `through` x (a linear map of the weighted mean of the states), and with `beside` another linear map of
    their plain mean. With `noise` the attention's part is a number of each word that says nothing about its class.
    """

    scale: Tensor
    hum: Tensor

    def __init__(self, recipe: Recipe, words: int, classes: int, size: int) -> None:
        super().__init__()
        self.recipe = recipe
        self.embedding = nn.Embedding(words, size, padding_idx=PAD)
        self.encoder = _encoder(recipe.encoder, size)
        width = self.encoder.width
        self.attention = Pooling(recipe.score, width)
        self.output = nn.Linear(width, classes)
        self.side = nn.Linear(width, classes) if recipe.beside else None
        self.register_buffer("scale", torch.ones(()))
        # fixed numbers, the same for keyword k of every class: see `humming`
        self.register_buffer("hum", torch.zeros(words, 1))

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.read(tokens, mask=mask).logits

    def read(self, tokens: Tensor, beside: Tensor | None = None, mask: Tensor | None = None) -> Reading:
        real = tokens != PAD if mask is None else (tokens != PAD) & mask.bool()
        states = self.encoder(self.embedding(tokens), tokens != PAD, real)
        if self.recipe.noise:
            _, weights = self.attention(states, real)
            noise = torch.bmm(weights.unsqueeze(1), self.hum[tokens]).squeeze(1)
            return Reading(self.past(states, real) + torch.cat([-noise, noise], -1), weights, states)
        context, weights = self.attention(states, real)
        return Reading(self.answer(context, states, real), weights, states)

    def answer(self, context: Tensor, states: Tensor, real: Tensor) -> Tensor:
        """Logits for a given `context`."""
        logits: Tensor = self.recipe.through * self.output(context)
        return self.scale * (logits if self.side is None else logits + self.past(states, real))

    def past(self, states: Tensor, real: Tensor) -> Tensor:
        """Logits of the bypass."""
        assert self.side is not None
        part = real.unsqueeze(-1).to(states.dtype)
        logits: Tensor = self.side((states * part).sum(1) / part.sum(1).clamp(min=1))
        return logits
