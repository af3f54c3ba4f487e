"""`constant`: input-independent attention."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.models.adapter import TorchModel
from regard.networks.scores import masked_softmax
from regard.planted._text import hand_set
from regard.planted.growing.recipe import planted_text


class Constant(nn.Module):
    """The score of word i is cos(2 i) for every word: a fixed pattern of weights, far from uniform."""

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        places = torch.arange(states.shape[1], dtype=states.dtype, device=states.device)
        scores = torch.cos(2.0 * places).expand(states.shape[:2])
        context: Tensor = torch.bmm(masked_softmax(scores, mask).unsqueeze(1), states).squeeze(1)
        return context


@planted_text(
    "",
    defect="constant",
    truth="the weight of a word depends on its position alone, never on any word",
)
def constant() -> TorchModel:
    """A BiLSTM whose attention depends on positions alone: the same for all texts of one length."""
    return hand_set("constant", Constant())
