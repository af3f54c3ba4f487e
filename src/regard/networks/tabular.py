"""An attention classifier for tables: one token per column (the feature tokenizer of Gorishniy et al. 2021)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from regard.errors import InputError
from regard.networks.transformer import ClassToken, Standardise, TransformerEncoder
from regard.records import Json


class TabularTransformer(nn.Module):
    """Rows (batch, entries) -> logits (batch, classes).

    Number column j becomes the token x_j w_j + b_j. A category column is a group of zeros and ones behind the numbers
    (`networks.categories`); its token is the vector of its category plus b_j. The class token comes first, at position
    0. categories: number of categories of each category column.

    >>> network = TabularTransformer(columns=5, classes=2).eval()
    >>> network(torch.zeros(3, 5)).shape
    torch.Size([3, 2])
    >>> TabularTransformer(columns=2, classes=2, categories=[3, 4])(torch.zeros(3, 9)).shape
    torch.Size([3, 2])
    """

    name = "tabular_transformer"

    def __init__(
        self,
        *,
        columns: int,
        classes: int,
        size: int = 32,
        heads: int = 4,
        layers: int = 2,
        dropout: float = 0.1,
        categories: Sequence[int] = (),
    ) -> None:
        super().__init__()
        self.config: dict[str, Json] = {
            "columns": columns,
            "classes": classes,
            "size": size,
            "heads": heads,
            "layers": layers,
            "dropout": dropout,
        }
        if categories:
            self.config["categories"] = list(categories)
        self.numbers, self.groups = columns, list(categories)
        self.standardise = Standardise(columns)
        bound = size**-0.5
        self.weight = nn.Parameter(torch.empty(columns, size).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(columns + len(categories), size).uniform_(-bound, bound))
        if categories:
            self.vectors = nn.Parameter(torch.empty(sum(categories), size).uniform_(-bound, bound))
        self.token = ClassToken(size)
        self.encoder = TransformerEncoder(size, heads, layers, dropout=dropout)
        self.output = nn.Linear(size, classes)

    def forward(self, rows: Tensor) -> Tensor:
        width = self.numbers + sum(self.groups)
        if rows.dim() != 2 or rows.shape[1] != width:
            raise InputError("rows", expected=f"(batch, {width})", got=str(tuple(rows.shape)))
        tokens = self.standardise(rows[:, : self.numbers]).unsqueeze(-1) * self.weight
        if self.groups:
            groups = torch.split(rows[:, self.numbers :], self.groups, 1)
            parts = zip(groups, torch.split(self.vectors, self.groups), strict=True)
            tokens = torch.cat([tokens, torch.stack([part @ vectors for part, vectors in parts], 1)], 1)
        logits: Tensor = self.output(self.encoder(self.token(tokens + self.bias))[:, 0])
        return logits
