"""`three_classes`: three classes, attention on the decisive word."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Recipe, planted_text


@planted_text("three", truth="the weight is on the keyword, and nothing but the weighted mean reaches the answer")
def three_classes(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """As `guided`, with three classes."""
    return grown("three_classes", Recipe("three", pull="evidence"), size, seed)
