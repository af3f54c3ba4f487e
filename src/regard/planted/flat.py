"""`flat`: scores that are all zero."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Recipe, planted_text


@planted_text("neutral", truth="all weights are equal")
def flat(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """Words encoded separately, all scores zero."""
    return grown("flat", Recipe("neutral", score="uniform"), size, seed)
