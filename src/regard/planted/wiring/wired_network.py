"""The base of networks with weights set by hand: tokens in, logits out, and a reading with its attention beside."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor, nn

from regard.networks.classifier import Reading
from regard.networks.vocabulary import PAD


class WiredNetwork(nn.Module, ABC):
    """Tokens (batch, n) -> logits (batch, classes); mask and types as tokenizers give them."""

    @abstractmethod
    def read(
        self, tokens: Tensor, mask: Tensor | None = None, types: Tensor | None = None, imposed: Tensor | None = None
    ) -> Reading:
        """The logits and the weights behind them. imposed: weights to use instead of the network's own."""

    def forward(self, tokens: Tensor, mask: Tensor | None = None, types: Tensor | None = None) -> Tensor:
        return self.read(tokens, mask).logits


def real_tokens(tokens: Tensor, mask: Tensor | None) -> Tensor:
    """Return the mask of tokens that are not padding."""
    return tokens != PAD if mask is None else (tokens != PAD) & mask
