"""`decides`: attention that fully determines the prediction, set by hand."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from regard.datasets.builtin.planted_texts import Size
from regard.measures.keyed_random import keyed_rng
from regard.models.adapter import TorchModel
from regard.networks.scores import masked_softmax
from regard.networks.vocabulary import PAD, SPECIALS
from regard.planted.growing.grow import deciding, ready, vocabulary
from regard.planted.growing.recipe import Recipe, planted_text

LOUD, SURE = 9.0, 3.0
"""Score of a keyword (fillers have scores between 0 and 1), and the logit of its class."""


class Pooling(nn.Module):
    """Weighted sum (batch, 1) of word evidence, and the weights (batch, n)."""

    def forward(self, words: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        weights = masked_softmax(words[..., 0], real)
        return torch.bmm(weights.unsqueeze(1), words[..., 1:]).squeeze(1), weights


class Decides(nn.Module):
    """Word vectors are (score, evidence); the evidence is -1 or +1 for keywords and exactly 0 for all others."""

    def __init__(self, words: int, seed: int, keys: list[list[int]]) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, 2, padding_idx=PAD)
        self.attention = Pooling()
        self.output = nn.Linear(1, 2)
        loud = keyed_rng(seed, "decides").random(words).astype(np.float32)
        with torch.no_grad():
            self.embedding.weight.zero_()
            self.embedding.weight[len(SPECIALS) :, 0] = torch.from_numpy(loud)[len(SPECIALS) :]
            for label, numbers in enumerate(keys):
                self.embedding.weight[numbers] = torch.tensor([LOUD, 2.0 * label - 1.0])
            self.output.weight.copy_(torch.tensor([[-SURE], [SURE]]))
            self.output.bias.zero_()

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        context, _ = self.attention(self.embedding(tokens), mask & (tokens != PAD))
        logits: Tensor = self.output(context)
        return logits


@planted_text(
    "single",
    defect="",
    truth="the answer is the weighted sum of what words say; only keywords say anything and have the weight",
)
def decides(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """Weights set by hand: the prediction is the weighted sum of word evidence, and only the keyword has any."""
    recipe = Recipe("single")
    network = Decides(len(vocabulary(size)), seed, deciding(recipe, size))
    return ready(network, "decides", size, {"task": recipe.task, "size": size, "seed": seed})
