"""A small Vision Transformer (Dosovitskiy et al. 2021)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.errors import InputError, phrase
from regard.networks.transformer import ClassToken, Standardise, TransformerEncoder
from regard.records import Json


class VisionTransformer(nn.Module):
    """Images (batch, channels, height, width) -> logits (batch, classes).

    Patches run row by row; the class token precedes them, at position 0, and alone decides the class.

    >>> network = VisionTransformer(height=8, width=8, patch=2, classes=10).eval()
    >>> network(torch.zeros(3, 1, 8, 8)).shape
    torch.Size([3, 10])
    """

    name = "vision_transformer"

    def __init__(
        self,
        *,
        height: int,
        width: int,
        patch: int,
        classes: int,
        channels: int = 1,
        size: int = 64,
        heads: int = 4,
        layers: int = 2,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        if height % patch or width % patch:
            raise InputError(
                "patch", expected=phrase("errors.networks.divisor_of_sides", height=height, width=width), got=str(patch)
            )
        self.config: dict[str, Json] = {
            "height": height,
            "width": width,
            "patch": patch,
            "classes": classes,
            "channels": channels,
            "size": size,
            "heads": heads,
            "layers": layers,
            "dropout": dropout,
        }
        self.patch = patch
        self.standardise = Standardise(channels, 1, 1)
        self.embedding = nn.Linear(channels * patch * patch, size)
        self.token = ClassToken(size)
        self.positions = nn.Parameter(torch.randn((height // patch) * (width // patch) + 1, size) * 0.02)
        self.encoder = TransformerEncoder(size, heads, layers, dropout=dropout)
        self.output = nn.Linear(size, classes)

    def forward(self, images: Tensor) -> Tensor:
        expected = (self.config["channels"], self.config["height"], self.config["width"])
        if tuple(images.shape[1:]) != expected:
            problem = str(tuple(images.shape))
            raise InputError("images", expected=f"(batch, {', '.join(map(str, expected))})", got=problem)
        x = self.token(self.embedding(self.patches(self.standardise(images)))) + self.positions
        logits: Tensor = self.output(self.encoder(x)[:, 0])
        return logits

    def patches(self, images: Tensor) -> Tensor:
        """(batch, channels, height, width) -> (batch, patches, channels x patch x patch), row by row."""
        tiles = images.unfold(2, self.patch, self.patch).unfold(3, self.patch, self.patch)
        return tiles.permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)
