"""`guided`: attention taught to lie on the one word that decides."""

from __future__ import annotations

from typing import Literal

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Recipe
from regard.registry import method


@method(
    "planted", data="planted_texts:task=neutral", task="classification", modality="text", licence="Apache-2.0",
    truth="the weight is on the keyword, and nothing but the weighted mean reaches the answer",
)  # fmt: skip
def guided(
    *, size: Size = "s", seed: int = 0, score: Literal["additive", "dot", "bilinear"] = "additive"
) -> TorchModel:
    """Words encoded one by one; attention is taught to lie on the keyword, and nothing goes past it."""
    return grown("guided", Recipe("neutral", score=score, pull="evidence"), size, seed)
