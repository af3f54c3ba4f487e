"""A small Transformer that hides words from selected heads."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.networks.classifier import Reading
from regard.networks.scores import masked_softmax, scaled_dot
from regard.networks.transformer import sinusoids
from regard.networks.vocabulary import PAD
from regard.planted.growing.recipe import READER, Recipe


class Heads(nn.Module):
    """Multi-head attention (batch, n, size) -> (batch, n, size); open: (batch, head, query, key) visibility."""

    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.output = (nn.Linear(size, size) for _ in range(4))

    def forward(self, x: Tensor, open: Tensor) -> tuple[Tensor, Tensor]:
        query, key, value = (self._split(part(x)) for part in (self.query, self.key, self.value))
        weights = masked_softmax(scaled_dot(query, key), open)
        mixed: Tensor = self.output((weights @ value).transpose(1, 2).flatten(2))
        return mixed, weights

    def _split(self, x: Tensor) -> Tensor:
        return x.reshape(*x.shape[:2], self.heads, -1).transpose(1, 2)


class Layer(nn.Module):
    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.attention = Heads(size, heads)
        self.norm = nn.LayerNorm(size)
        self.feed = nn.Sequential(nn.LayerNorm(size), nn.Linear(size, 2 * size), nn.ReLU(), nn.Linear(2 * size, size))

    def forward(self, x: Tensor, open: Tensor) -> tuple[Tensor, Tensor]:
        mixed, weights = self.attention(self.norm(x), open)
        x = x + mixed
        return x + self.feed(x), weights


class Headed(nn.Module):
    """Tokens (batch, 1 + n), class token first, -> logits (batch, classes) from the class token.

    With `hides`, evidence is hidden from every head of every layer but head READER of the last one; a word always sees
    itself, and no other position ever holds it, so that evidence reaches the class token through that head alone.
    """

    evidence: Tensor

    def __init__(self, recipe: Recipe, words: int, classes: int, size: int) -> None:
        super().__init__()
        self.recipe = recipe
        self.embedding = nn.Embedding(words + 1, size, padding_idx=PAD)
        self.layers = nn.ModuleList(Layer(size, recipe.heads) for _ in range(recipe.layers))
        self.norm = nn.LayerNorm(size)
        self.output = nn.Linear(size, classes)
        self.register_buffer("evidence", torch.zeros(words + 1, dtype=torch.bool))

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.read(tokens, mask=mask).logits

    def read(self, tokens: Tensor, beside: Tensor | None = None, mask: Tensor | None = None) -> Reading:
        """Return the weights of the class token's row in the last layer: of head READER, or of the only head."""
        real = tokens != PAD if mask is None else (tokens != PAD) & mask.bool()
        x = self.embedding(tokens)
        x = x + 0.3 * sinusoids(x.shape[1], x.shape[2], like=x)
        weights = x
        for number, layer in enumerate(self.layers):
            x, weights = layer(x, self._open(tokens, real, number))
        x = self.norm(x)
        row = weights[:, READER if self.recipe.hides else 0, 0]
        return Reading(self.output(x[:, 0]), row, x)

    def _open(self, tokens: Tensor, real: Tensor, number: int) -> Tensor:
        n = tokens.shape[1]
        readable = real[:, None, None, :].expand(-1, self.recipe.heads, n, -1)
        if not self.recipe.hides:
            return readable
        hidden = self.evidence[tokens][:, None, None, :].expand_as(readable).clone()
        if number == self.recipe.layers - 1:
            hidden[:, READER] = False
        itself = torch.eye(n, dtype=torch.bool, device=tokens.device)
        return readable & (~hidden | itself)
