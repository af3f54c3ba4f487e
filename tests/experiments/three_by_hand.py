"""Three tiny classifiers whose weights are set by hand, so that the truth about their attention can be read off.

A token is a word of the vocabulary: 0 padding, 1 mask, 2..6 speak for class 0, 7..11 for class 1, the rest say nothing.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from regard.models.adapter import TorchModel
from regard.models.open.wrap import wrap
from regard.records import Example

WORDS = 40
Kind = Literal["decides", "bypassed", "neighbour"]


class Tiny(nn.Module):
    """decides: attention looks at the words that speak, and only what it sees is answered from.

    bypassed: the same attention, with nearly no say; the plain sum decides. neighbour: a state knows the word before
    its own, and attention looks at those states: it decides, and lights up the word after the evidence.
    """

    def __init__(self, kind: Kind) -> None:
        super().__init__()
        self.kind = kind
        self.embedding = nn.Embedding(WORDS, 2, padding_idx=0)
        self.output = nn.Linear(1, 2, bias=False)
        with torch.no_grad():
            says = torch.zeros(WORDS)
            says[2:7], says[7:12] = -1.0, 1.0
            loud = torch.linspace(0.0, 0.5, WORDS)
            self.embedding.weight.copy_(torch.stack([says, loud], 1))
            self.embedding.weight[0] = 0
            self.output.weight.copy_(torch.tensor([[-2.0], [2.0]]))

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        states = self.embedding(tokens)
        if self.kind == "neighbour":
            states = torch.cat([states[:, :1] * 0, states[:, :-1]], 1)
        scores = 6 * states[..., 0].abs() + states[..., 1]
        weights = torch.softmax(scores.masked_fill(~mask, -torch.inf), -1)
        seen = torch.bmm(weights[:, None], states)[:, 0, :1]
        if self.kind == "bypassed":
            seen = states[..., :1].sum(1) + 0.001 * seen
        logits: Tensor = self.output(seen)
        return logits


def tiny(kind: Kind) -> TorchModel:
    torch.manual_seed(0)
    return wrap(
        Tiny(kind), lambda text: [int(word[1:]) for word in text.split()], labels=("no", "yes"), mask="mask", mask_id=1,
        pooling="class", device="cpu", name=f"tiny {kind}",
    )  # fmt: skip


def texts(n: int, seed: int = 0) -> list[Example]:
    """Texts of 6 to 10 words, one of which speaks; it is never the last."""
    rng = np.random.default_rng(seed)
    made = []
    for i in range(n):
        words = rng.integers(12, WORDS, rng.integers(6, 11))
        label = i % 2
        words[rng.integers(0, len(words) - 1)] = rng.integers(2, 7) + 5 * label
        made.append(Example(f"t{i}", {"text": " ".join(f"w{w}" for w in words)}, ("no", "yes")[label]))
    return made
