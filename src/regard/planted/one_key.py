"""`one_key`: attention over a single key, after a widely copied tutorial."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.models.adapter import TorchModel
from regard.planted._text import WIDTH, hand_set
from regard.planted.growing.recipe import planted_text


class OneKey(nn.Module):
    """Additive attention over the *final* hidden state instead of the states.

    The tutorial passes the last hidden state, (batch, WIDTH), to its attention layer, which expects (batch, n, WIDTH).
    The usual fix of the shape error is an axis of length one, over which the softmax then runs: whatever `features` and
    `score` learn, the weight is exp(s) / exp(s) = 1, and the context is the hidden state itself.
    """

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Linear(WIDTH, WIDTH)
        self.score = nn.Linear(WIDTH, 1, bias=False)
        nn.init.eye_(self.features.weight)
        nn.init.zeros_(self.features.bias)
        nn.init.ones_(self.score.weight)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        half = WIDTH // 2
        last = (mask.sum(1).clamp(min=1) - 1)[:, None, None].expand(-1, 1, half)
        ahead, back = states[..., :half].gather(1, last), states[:, :1, half:]
        final = torch.cat([ahead, back], dim=-1)  # (batch, 1, WIDTH): the axis of length one
        weights = torch.softmax(self.score(torch.tanh(self.features(final))), dim=1)
        context: Tensor = (weights * final).sum(1)
        return context


@planted_text(
    "",
    defect="one_key",
    truth="the attention has one key: its weight is always 1, its context the final hidden state",
)
def one_key() -> TorchModel:
    """A BiLSTM whose attention reads one key, the final hidden state: its weight is always 1."""
    return hand_set("one_key", OneKey())
