"""`uniform`: equal weight for every word."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.models.adapter import TorchModel
from regard.networks.scores import masked_softmax
from regard.planted._text import hand_set
from regard.planted.growing.recipe import planted_text


class Uniform(nn.Module):
    """All scores are 0: each of n words has weight 1 / n, and the context is the mean state."""

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        weights = masked_softmax(torch.zeros_like(states[..., 0]), mask)
        context: Tensor = torch.bmm(weights.unsqueeze(1), states).squeeze(1)
        return context


@planted_text(
    "",
    defect="uniform",
    truth="the weight of each of n words is 1 / n",
)
def uniform() -> TorchModel:
    """A BiLSTM whose attention gives every word the same weight."""
    return hand_set("uniform", Uniform())
