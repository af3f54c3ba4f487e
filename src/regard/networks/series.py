"""A small Transformer for time series, one token per time step: classification and forecasting."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.errors import InputError, phrase
from regard.networks.transformer import ClassToken, Standardise, TransformerEncoder, sinusoids
from regard.records import Json


class SeriesTransformer(nn.Module):
    """Series (batch, steps, channels) -> logits (batch, classes), or a forecast (batch, horizon); any number of steps.

    Set either classes or horizon: a forecast is the next `horizon` values of the first channel, in its own unit. The
    class token precedes the steps, at position 0. `mask` (batch, steps) is False on padding.

    >>> network = SeriesTransformer(channels=1, classes=2).eval()
    >>> network(torch.zeros(3, 24, 1)).shape
    torch.Size([3, 2])
    >>> SeriesTransformer(channels=1, horizon=4).eval()(torch.zeros(3, 24, 1)).shape
    torch.Size([3, 4])
    """

    name = "series_transformer"

    def __init__(
        self,
        *,
        channels: int,
        classes: int = 0,
        horizon: int = 0,
        size: int = 32,
        heads: int = 4,
        layers: int = 2,
        dropout: float = 0.1,
    ) -> None:
        super().__init__()
        if (classes > 0) == (horizon > 0):
            problem = f"classes={classes}, horizon={horizon}"
            raise InputError(
                phrase("errors.networks.series_transformer"),
                expected=phrase("errors.networks.classes_or_horizon"),
                got=problem,
            )
        self.config: dict[str, Json] = {
            "channels": channels,
            "classes": classes,
            "horizon": horizon,
            "size": size,
            "heads": heads,
            "layers": layers,
            "dropout": dropout,
        }
        self.standardise = Standardise(channels)
        self.embedding = nn.Linear(channels, size)
        self.token = ClassToken(size)
        self.encoder = TransformerEncoder(size, heads, layers, dropout=dropout)
        self.output = nn.Linear(size, classes or horizon)

    def forward(self, series: Tensor, mask: Tensor | None = None) -> Tensor:
        if series.dim() != 3 or series.shape[2] != self.config["channels"]:
            expected = f"(batch, steps, {self.config['channels']})"
            raise InputError("series", expected=expected, got=str(tuple(series.shape)))
        x = self.embedding(self.standardise(series))
        x = self.token(x + sinusoids(x.shape[1], x.shape[2], like=x))
        if mask is not None:
            # the class token is always readable
            mask = torch.cat([mask.new_ones(mask.shape[0], 1), mask], dim=1).bool()
        out: Tensor = self.output(self.encoder(x, mask)[:, 0])
        return out * self.standardise.scale[0] + self.standardise.mean[0] if self.config["horizon"] else out
