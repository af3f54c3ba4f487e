"""Greedy decoding of a whole batch."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from regard.networks.vocabulary import END, PAD, START


def greedy(step: Callable[[Tensor], Tensor], batch: int, limit: int, *, device: torch.device) -> Tensor:
    """Decode (batch, at most limit) tokens after <start>, up to and including <end>, then <pad>.

    step: the last tokens (batch, 1) -> logits of the next (batch, words). It may cache earlier steps.

    >>> greedy(lambda last: torch.eye(8)[last[:, 0] + 1], batch=1, limit=5, device=torch.device("cpu"))
    tensor([[4]])
    """
    last = torch.full((batch, 1), START, dtype=torch.long, device=device)
    ended = torch.zeros(batch, dtype=torch.bool, device=device)
    tokens = []
    for _ in range(limit):
        logits = step(last).clone()
        logits[:, [PAD, START]] = -torch.inf  # never part of a text
        last = logits.argmax(-1, keepdim=True).masked_fill(ended[:, None], PAD)
        tokens.append(last)
        ended = ended | (last[:, 0] == END)
        if bool(ended.all()):
            break
    return torch.cat(tokens, dim=1)
