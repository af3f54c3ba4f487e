"""`pointed`: attention on the decisive word, where one class may be the default."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Recipe, planted_text


@planted_text("single", truth="the weight is on the keyword, and nothing but the weighted mean reaches the answer")
def pointed(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """As `guided`, on texts that all have a keyword: one class may become the default."""
    return grown("pointed", Recipe("single", pull="evidence"), size, seed)
