"""`unused`: attention that the model computes and returns but never uses."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.models.adapter import TorchModel
from regard.networks.scores import masked_softmax
from regard.planted._text import WIDTH, hand_set
from regard.planted.growing.recipe import planted_text


class Unused(nn.Module):
    """Attention averages the states, but the prediction uses their plain mean.

    `score` depends on loudness, so the weights differ between words and texts. `context` looks like a summary of the
    text, but nothing reads it.
    """

    context: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.score = nn.Linear(WIDTH, 1, bias=False)
        with torch.no_grad():
            self.score.weight.copy_(torch.tensor([[0.0, 3.0, 0.0, 3.0]]))

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        weights = masked_softmax(self.score(torch.tanh(states)).squeeze(-1), mask)
        self.context = torch.bmm(weights.unsqueeze(1), states).squeeze(1).detach()
        real = mask.unsqueeze(-1).to(states.dtype)
        mean: Tensor = (states * real).sum(1) / real.sum(1).clamp(min=1)
        return mean


@planted_text(
    "",
    defect="unused",
    truth="the answer is made from the plain mean of the states; its attention changes nothing",
)
def unused() -> TorchModel:
    """A BiLSTM with attention that nothing downstream reads: patched weights change no prediction."""
    return hand_set("unused", Unused())
