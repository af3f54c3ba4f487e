"""Small text classifiers that are broken in one way each, and the examples to ask them about."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from regard.models.adapter import TorchModel
from regard.models.open.wrap import wrap
from regard.records import Example

WORDS = 40


class Net(nn.Module):
    """Embedding -> attention -> mean -> two logits, spoilt by `fault` after every call. `calls` counts them."""

    def __init__(self, fault: Any = None, *, dropout: float = 0.0) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(WORDS, 16)
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
        self.drop = nn.Dropout(dropout)
        self.out = nn.Linear(16, 2)
        self.fault, self.calls = fault, 0

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        self.calls += 1
        x = self.embedding(ids)
        h, _ = self.attention(x, x, x, key_padding_mask=~mask, need_weights=False)
        h = self.drop(h + x)
        logits = 4 * self.out((h * mask[..., None]).sum(1) / mask.sum(1, keepdim=True))
        return logits if self.fault is None else self.fault(self, ids, logits)


def model(net: Net) -> TorchModel:
    return wrap(net, lambda text: [int(w[1:]) for w in text.split()], labels=["no", "yes"], mask="mask", device="cpu")


def texts(n: int) -> list[Example]:
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(WORDS)]
    drawn = [" ".join(rng.choice(words, size=rng.integers(4, 8), replace=False)) for _ in range(n)]
    return [Example(f"e{i}", {"text": text}, label=i % 2) for i, text in enumerate(drawn)]


# ---------------------------------------------------------------------- faults


def noise(net: Net, ids: Tensor, logits: Tensor) -> Tensor:
    return logits + 0.5 * torch.randn(logits.shape)


class OwnNoise:
    """Noise from a generator that no global seed reaches."""

    def __init__(self) -> None:
        self.rng = torch.Generator().manual_seed(7)

    def __call__(self, net: Net, ids: Tensor, logits: Tensor) -> Tensor:
        return logits + 0.5 * torch.randn(logits.shape, generator=self.rng)


def counter(net: Net, ids: Tensor, logits: Tensor) -> Tensor:
    return logits + torch.tensor([0.01 * net.calls, 0.0])


class LastInput:
    """The answer depends on the input before."""

    before = 0.0

    def __call__(self, net: Net, ids: Tensor, logits: Tensor) -> Tensor:
        shifted = logits + torch.tensor([0.1 * self.before, 0.0])
        self.before = float(ids.float().mean())
        return shifted


def sometimes_nan(net: Net, ids: Tensor, logits: Tensor) -> Tensor:
    return logits * float("nan") if net.calls % 4 == 0 else logits


def rounding(net: Net, ids: Tensor, logits: Tensor) -> Tensor:
    """Float noise: relative 1e-6, another one in every call and for every size of the batch."""
    return logits * (1 + 1e-6 * torch.randn(1) + 1e-6 * len(ids))


class At:
    """`value` in place of the logits (of all rows, or of the first) at some calls."""

    def __init__(self, calls: set[int], value: float, *, whole: bool) -> None:
        self.calls, self.value, self.whole = calls, value, whole
        self.hits = 0

    def __call__(self, net: Net, ids: Tensor, logits: Tensor) -> Tensor:
        if net.calls not in self.calls:
            return logits
        self.hits += 1
        rows = torch.ones(len(ids), 1, dtype=torch.bool) if self.whole else (torch.arange(len(ids)) == 0)[:, None]
        spoilt = torch.full_like(logits, self.value)
        if np.isinf(self.value):
            spoilt[:, 1] = 0.0  # one class infinite: the other one is ruled out or certain
        return torch.where(rows, spoilt, logits)
