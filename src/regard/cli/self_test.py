"""Self-test of the tap: compare the captured attention of a tiny model with a direct computation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from regard.models.open.wrap import wrap
from regard.records import Example, Mode, Text

WORDS = "one two three four five six seven eight"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Errors of one capture mode: deviation of weights from the direct computation, and of row sums from 1."""

    mode: str
    sites: int
    error: float
    row_error: float
    checked: Text

    @property
    def fine(self) -> bool:
        return self.sites == 1 and self.error < 1e-5 and self.row_error < 1e-5


class Tiny(nn.Module):
    """Layer of two-headed attention over random embeddings."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(16, 8)
        self.query, self.key, self.value = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
        self.out = nn.Linear(8, 2)

    def heads(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        b, n, _ = x.shape
        q, k, v = (layer(x).view(b, n, 2, 4).transpose(1, 2) for layer in (self.query, self.key, self.value))
        return q, k, v

    def forward(self, ids: Tensor) -> Tensor:
        q, k, v = self.heads(self.embed(ids))
        mixed = nn.functional.scaled_dot_product_attention(q, k, v)
        logits: Tensor = self.out(mixed.transpose(1, 2).flatten(2).mean(1))
        return logits


def self_test(device: str = "cpu") -> list[Outcome]:
    """Capture in both modes, each compared with softmax(QK/2) computed here in float64."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        module = Tiny()
    ids = [len(word) for word in WORDS.split()]
    with torch.no_grad():
        q, k, _ = module.double().heads(module.embed(torch.tensor([ids])))
        expected = torch.softmax(q @ k.transpose(-1, -2) / 2.0, dim=-1).numpy()
    model = wrap(module.float(), lambda text: [len(word) for word in text.split()], labels=["no", "yes"], device=device)
    encoded = model.encode(Example("self-test", {"text": WORDS}))
    _, targets = model.predict([encoded])
    modes: tuple[Mode, ...] = ("qk", "weights")
    outcomes = []
    for mode in modes:
        captured = model.capture([encoded], targets, mode=mode, check="always")
        weights = captured.sites[0].dense().weights if captured.sites else np.zeros(expected.shape, np.float32)
        error = float(np.abs(weights - expected).max())
        rows = float(np.abs(weights.sum(-1) - 1.0).max())
        outcomes.append(Outcome(mode, len(captured.sites), error, rows, captured.checked))
    return outcomes
