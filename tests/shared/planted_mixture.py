"""A classifier set by hand whose attention map is right on some texts and wrong on the others.

A token is a word of the vocabulary: 0 padding, 1 mask, 2..6 are keywords for class 0 and 7..11 for class 1; 12..16 and
17..21 are bag words for class 0 and 1; 22 is the switch; the rest say nothing. Attention always looks at the keyword.
Without the switch the pooled keyword decides. With it the sum of all bag words decides, and the keyword has no say.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from regard.models.adapter import TorchModel
from regard.models.open.wrap import wrap
from regard.records import Example

WORDS, SWITCH = 60, 22


class Mixture(nn.Module):
    """Keyword by attention, or bag of words past it."""

    def __init__(self, sure: float = 2.0, vote: float = 1.2, faint: float = 0.0) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, 4, padding_idx=0)
        self.output = nn.Linear(1, 2, bias=False)
        self.sure, self.vote, self.faint = sure, vote, faint
        with torch.no_grad():
            table = torch.zeros(WORDS, 4)
            table[2:7, 0], table[7:12, 0] = -1.0, 1.0
            table[12:17, 1], table[17:22, 1] = -1.0, 1.0
            table[SWITCH, 2] = 1.0
            table[1:, 3] = torch.linspace(0.0, 0.5, WORDS - 1)
            self.embedding.weight.copy_(table)
            self.output.weight.copy_(torch.tensor([[-1.0], [1.0]]))

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        states = self.embedding(tokens) * mask[..., None]
        scores = 6 * states[..., 0].abs() + states[..., 3]
        weights = torch.softmax(scores.masked_fill(~mask, -torch.inf), -1)
        seen = torch.bmm(weights[:, None], states)[:, 0, :1] * self.sure
        past = states[..., 1].sum(1, keepdim=True) * self.vote
        switch = states[..., 2].amax(1, keepdim=True)
        logits: Tensor = self.output((1 - switch) * seen + switch * past + self.faint * past)
        return logits


def mixture(**setting: float) -> TorchModel:
    return wrap(
        Mixture(**setting),
        lambda text: [int(word[1:]) for word in text.split()],
        labels=("no", "yes"),
        mask="mask",
        mask_id=1,
        pooling="class",
        device="cpu",
        name="mixture",
    )


def mixture_texts(n: int, share: float = 0.3, seed: int = 0) -> list[Example]:
    """Texts of 9 to 12 words with a keyword and one to three bag words of one class; `share` have the switch.

    The slice `way` names what decides: "keyword" or "bag".
    """
    rng = np.random.default_rng(seed)
    bags = np.arange(n) < round(share * n)
    rng.shuffle(bags)
    examples = []
    for i, bag in enumerate(bags):
        words = rng.integers(SWITCH + 1, WORDS, rng.integers(9, 13))
        places = rng.permutation(len(words))
        label, other = rng.integers(0, 2, 2)
        votes = int(rng.integers(1, 4))
        words[places[0]] = rng.integers(2, 7) + 5 * (other if bag else label)
        words[places[1 : 1 + votes]] = rng.integers(12, 17, votes) + 5 * (label if bag else other)
        if bag:
            words[places[1 + votes]] = SWITCH
        text = " ".join(f"w{w}" for w in words)
        slices = {"way": "bag" if bag else "keyword"}
        examples.append(Example(f"t{i}", {"text": text}, ("no", "yes")[label], slices=slices))
    return examples
