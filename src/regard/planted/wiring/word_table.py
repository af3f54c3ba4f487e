"""Word vectors set by hand."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.networks.vocabulary import PAD


def word_table(vectors: Tensor) -> nn.Embedding:
    """Return an embedding with these rows, (words, features)."""
    words, features = vectors.shape
    table = nn.Embedding(words, features, padding_idx=PAD)
    with torch.no_grad():
        table.weight.copy_(vectors)
    return table
