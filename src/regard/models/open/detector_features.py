"""The feature map that a detector attends to."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch
from torch import nn

_CELL_KEYS = ("detr", "table-transformer", "conditional_detr")
"""Detectors whose attention has one key for each cell of the last feature map, row by row."""


def feature_cells(module: nn.Module) -> Callable[[int, int], tuple[int, int]] | None:
    """(height, width) -> rows and columns of the feature map that a detector attends to; None for other detectors.

    Measured on the backbone with an empty picture, once per size.
    """
    native: Any = module
    backbone = getattr(getattr(native, "model", None), "backbone", None)
    if native.config.model_type not in _CELL_KEYS or backbone is None:
        return None

    @lru_cache(maxsize=64)
    def ask(height: int, width: int) -> tuple[int, int]:
        first = next(module.parameters())
        empty = first.new_zeros((1, int(getattr(native.config, "num_channels", 3)), height, width))
        with torch.inference_mode():
            features = backbone(empty, torch.ones_like(empty[:, 0], dtype=torch.long))
        maps = features[0] if isinstance(features, tuple) else features
        rows, columns = maps[-1][0].shape[-2:]
        return int(rows), int(columns)

    return ask
