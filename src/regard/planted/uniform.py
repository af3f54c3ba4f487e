"""`uniform`: attention that gives every word the same weight."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.models.adapter import TorchModel
from regard.networks.scores import masked_softmax
from regard.planted._text import hand_set
from regard.registry import method


class Uniform(nn.Module):
    """All scores are 0: the weight of each of n words is 1 / n, and the context is the mean of the states."""

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        weights = masked_softmax(torch.zeros_like(states[..., 0]), mask)
        context: Tensor = torch.bmm(weights.unsqueeze(1), states).squeeze(1)
        return context


@method(
    "planted", data="planted", task="classification", modality="text", licence="Apache-2.0",
    defect="uniform", truth="the weight of each of n words is 1 / n",
)  # fmt: skip
def uniform() -> TorchModel:
    """A BiLSTM whose attention gives every word the same weight."""
    return hand_set("uniform", Uniform())
