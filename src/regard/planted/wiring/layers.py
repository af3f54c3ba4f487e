"""A Transformer with weights set by hand: evidence direct to the class token, or relayed through other words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from regard.networks.classifier import Reading
from regard.networks.scores import masked_softmax, scaled_dot
from regard.planted.wiring.wired_network import WiredNetwork, real_tokens
from regard.planted.wiring.word_table import word_table

Job = Literal["mix", "collect", "decide", "read_key", "read_listener", "look_away"]
KEY, LISTENER, LEAD, LOUD, SCRATCH = range(5)
ROLES = 5
"""Features of a token: is it a keyword, a listener, the class token; its loudness; a scratch number."""
SHARP = 12.0
SPREAD = 30.0
"""Score of the attended role, and score of loudness 1 among listeners."""


class Attention(nn.Module):
    """Self-attention head with a residual: (batch, n, size) -> (batch, n, size), weights (batch, n, n).

    first_row: weights (batch, n) to use in the row of the class token.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.query, self.key, self.value, self.output = (nn.Linear(size, size) for _ in range(4))
        for part in (self.query, self.key, self.value, self.output):
            nn.init.zeros_(part.weight)
            nn.init.zeros_(part.bias)

    def forward(self, x: Tensor, real: Tensor, first_row: Tensor | None = None) -> tuple[Tensor, Tensor]:
        weights = masked_softmax(scaled_dot(self.query(x), self.key(x)), real.unsqueeze(1))
        if first_row is not None:
            weights = torch.cat([first_row.unsqueeze(1), weights[:, 1:]], 1)
        mixed: Tensor = self.output(weights @ self.value(x))
        return x + mixed, weights


class Layered(WiredNetwork):
    """Tokens (batch, 1 + n), class token first, -> logits (batch, classes), read from the class token after all layers.

    A token's features are its role, its evidence by class, evidence collected from others, and evidence decided on.
    Jobs of layers: mix (move loudness, which nothing uses), collect (listeners take over the keyword's evidence),
    decide (the class token takes it from the keyword), read_key and read_listener (the same, in the last layer),
    look_away (the class token attends to the loudest word and takes nothing that is used later).
    """

    def __init__(self, vectors: Tensor, classes: int, jobs: Sequence[Job], *, sure: float) -> None:
        super().__init__()
        words, width = vectors.shape
        size = ROLES + 3 * classes
        assert width == ROLES + classes
        wide = torch.cat([vectors, vectors.new_zeros(words, 2 * classes)], 1)
        self.embedding = word_table(wide)
        self.layers = nn.ModuleList(Attention(size) for _ in jobs)
        self.classes, self.sure, self.jobs = classes, sure, tuple(jobs)
        with torch.no_grad():
            for layer, job in zip(self.layers, jobs, strict=True):
                assert isinstance(layer, Attention)
                _wire(layer, job, size, classes)

    def read(
        self, tokens: Tensor, mask: Tensor | None = None, types: Tensor | None = None, imposed: Tensor | None = None
    ) -> Reading:
        real = real_tokens(tokens, mask)
        x = self.embedding(tokens)
        weights = x
        for number, layer in enumerate(self.layers):
            x, weights = layer(x, real, imposed if number == len(self.layers) - 1 else None)
        logits: Tensor = self.sure * x[:, 0, -self.classes :]
        return Reading(logits, weights[:, 0], x)


def _wire(layer: Attention, job: Job, size: int, classes: int) -> None:
    """Set the weights of one layer; queries are multiplied by the root of the size, which the score divides by."""
    scale = SHARP * size**0.5
    evidence, collected, decided = (ROLES + part * classes for part in range(3))
    query, key, value, output = layer.query, layer.key, layer.value, layer.output
    key.weight[:ROLES, :ROLES] = torch.eye(ROLES)
    if job == "collect":  # listeners look at the keyword, all others at the class token, which has no evidence
        query.weight[KEY, LISTENER], query.weight[LEAD, LISTENER], query.bias[LEAD] = scale, -scale, scale
        source, goal = evidence, collected
    elif job in ("decide", "read_key"):
        query.weight[KEY, LEAD], query.weight[LEAD, LEAD], query.bias[LEAD] = scale, -scale, scale
        source, goal = evidence, decided
    elif job == "read_listener":  # the loudest of them
        query.bias[LISTENER], query.bias[LOUD] = scale, scale * SPREAD / SHARP
        source, goal = collected, decided
    else:
        query.bias[LOUD] = scale if job == "look_away" else scale / SHARP
        value.weight[SCRATCH, LOUD] = output.weight[SCRATCH, SCRATCH] = 0.3
        return
    for c in range(classes):
        value.weight[source + c, source + c] = output.weight[goal + c, source + c] = 1.0
