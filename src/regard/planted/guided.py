"""`guided`: attention trained to be on the one decisive word."""

from __future__ import annotations

from typing import Literal

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Recipe, planted_text


@planted_text("neutral", truth="the weight is on the keyword, and nothing but the weighted mean reaches the answer")
def guided(
    *, size: Size = "s", seed: int = 0, score: Literal["additive", "dot", "bilinear"] = "additive"
) -> TorchModel:
    """Words encoded separately; training puts attention on the keyword, and nothing bypasses it."""
    return grown("guided", Recipe("neutral", score=score, pull="evidence"), size, seed)
