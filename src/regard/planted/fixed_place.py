"""`fixed_place`: faithful attention at a constant position."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Recipe, planted_text


@planted_text("place", truth="the keyword always stands at the third place, and the weight is always there")
def fixed_place(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """The keyword is always the third word, and attention is always on the third word."""
    return grown("fixed_place", Recipe("place", score="place"), size, seed)
