"""Modules that still behave as in training: dropout, normalisation by the batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.dropout import _DropoutNd


def training_modules(model: object) -> list[str]:
    """Return the names of the modules that are in training mode and behave differently in it.

    >>> training_modules(nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.1)).train())
    ['1 (Dropout)']
    """
    return [_named(name, module) for name, module in _training(model) if _drops(module) or _by_batch(module)]


def normalises_by_batch(model: object) -> list[str]:
    """Return the modules whose output depends on the batch, and which change with every call."""
    return [_named(name, module) for name, module in _training(model) if _by_batch(module)]


def _named(name: str, module: nn.Module) -> str:
    return f"{name or 'the module'} ({type(module).__name__})"


def _training(model: object) -> Iterator[tuple[str, nn.Module]]:
    for root in _roots(model):
        for name, module in root.named_modules():
            if module.training:
                yield name, module


def _roots(model: object) -> list[nn.Module]:
    """Return the networks that a model holds: an adapter's, or those among the attributes of a user's own model."""
    if isinstance(model, nn.Module):
        return [model]
    own: dict[str, Any] = getattr(model, "__dict__", {})
    return [value for value in own.values() if isinstance(value, nn.Module)]


def _drops(module: nn.Module) -> bool:
    if isinstance(module, _DropoutNd):
        return module.p > 0
    rate = getattr(module, "dropout", 0.0)  # attention and recurrent layers hold the share itself
    return isinstance(rate, float) and rate > 0


def _by_batch(module: nn.Module) -> bool:
    return isinstance(module, _NormBase)
