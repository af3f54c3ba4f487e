"""An attention classifier for tables: one token per column (the feature tokenizer of Gorishniy et al. 2021)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.errors import InputError
from regard.networks.transformer import ClassToken, Standardise, TransformerEncoder
from regard.records import Json


class TabularTransformer(nn.Module):
    """Rows (batch, columns) -> logits (batch, classes).

    Column j becomes the token x_j w_j + b_j; the class token precedes the columns, at position 0.

    >>> network = TabularTransformer(columns=5, classes=2).eval()
    >>> network(torch.zeros(3, 5)).shape
    torch.Size([3, 2])
    """

    name = "tabular_transformer"

    def __init__(
        self, *, columns: int, classes: int, size: int = 32, heads: int = 4, layers: int = 2, dropout: float = 0.1
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
        self.standardise = Standardise(columns)
        bound = size**-0.5
        self.weight = nn.Parameter(torch.empty(columns, size).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(columns, size).uniform_(-bound, bound))
        self.token = ClassToken(size)
        self.encoder = TransformerEncoder(size, heads, layers, dropout=dropout)
        self.output = nn.Linear(size, classes)

    def forward(self, rows: Tensor) -> Tensor:
        if rows.dim() != 2 or rows.shape[1] != self.config["columns"]:
            raise InputError("rows", expected=f"(batch, {self.config['columns']})", got=str(tuple(rows.shape)))
        tokens = self.standardise(rows).unsqueeze(-1) * self.weight + self.bias
        logits: Tensor = self.output(self.encoder(self.token(tokens))[:, 0])
        return logits
