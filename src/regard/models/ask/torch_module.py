"""The native torch module of a model, for work that only torch models allow."""

from __future__ import annotations

from torch import nn

from regard.models.adapter import TorchModel
from regard.models.ask.capability import capability


@capability(needs="model")
def torch_module(model: TorchModel) -> nn.Module:
    """Return the module that the model runs."""
    return model.module
