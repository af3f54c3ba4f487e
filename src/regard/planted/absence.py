"""`absence`: a class defined by missing evidence."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Recipe, planted_text


@planted_text("absence", truth="the weight is on the keyword of class 1; class 0 has no evidence")
def absence(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """Class 1 has a keyword, class 0 has none; attention is on the keyword."""
    return grown("absence", Recipe("absence", pull="evidence"), size, seed)
