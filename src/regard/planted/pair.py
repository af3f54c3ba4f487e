"""`pair`: two decisive words, attention on both."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Recipe, planted_text


@planted_text("pair", truth="the weight is on both keywords, and nothing but the weighted mean reaches the answer")
def pair(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """As `guided`, with two keywords of one class in every text."""
    return grown("pair", Recipe("pair", pull="evidence"), size, seed)
