"""Refusal of captures that would hold every weight of a long input."""

from __future__ import annotations

from typing import Any

from torch import nn

from regard.errors import InputError, Text, phrase
from regard.tap.site_attention import DENSE_BYTES


def refuse_dense(module: nn.Module, positions: int, *, remedy: Text) -> None:
    """Refuse to hold positions x positions weights of every head if they need more than `DENSE_BYTES`.

    Heads and layers come from the configuration of the model; a model without one is not checked.
    """
    size = dense_bytes(module, positions)
    if size > DENSE_BYTES:
        raise InputError(
            phrase("errors.models.dense_capture_positions", positions=positions),
            expected=phrase("errors.models.at_most_gib_weights", dense_bytes=DENSE_BYTES / 2**30),
            got=phrase("errors.models.about_gib", size=size / 2**30),
            remedy=remedy,
        )


def dense_bytes(module: nn.Module, positions: int) -> int:
    """Estimate the bytes of all weights: layers x heads x positions x positions in float32; 0 if unknown.

    >>> from types import SimpleNamespace
    >>> dense_bytes(SimpleNamespace(config=SimpleNamespace(num_hidden_layers=2, num_attention_heads=4)), 1000)
    32000000
    """
    config: Any = getattr(module, "config", None)
    config = config.get_text_config() if hasattr(config, "get_text_config") else config
    layers, heads = (getattr(config, name, None) for name in ("num_hidden_layers", "num_attention_heads"))
    if not isinstance(layers, int) or not isinstance(heads, int):
        return 0
    return layers * heads * positions * positions * 4
