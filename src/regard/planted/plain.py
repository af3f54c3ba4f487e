"""`plain`: ordinary training, words encoded separately."""

from __future__ import annotations

from typing import Literal

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Recipe, planted_text


@planted_text("single", truth="not fixed: its certificate says what it became")
def plain(*, size: Size = "s", seed: int = 0, score: Literal["additive", "dot", "bilinear"] = "additive") -> TorchModel:
    """Ordinary training: words encoded separately, one keyword."""
    return grown("plain", Recipe("single", score=score), size, seed)
