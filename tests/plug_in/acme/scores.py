"""A score function."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.registry import score


@score()
def distance(query: Tensor, key: Tensor) -> Tensor:
    """Minus the distance between query and key."""
    return -torch.cdist(query, key)
