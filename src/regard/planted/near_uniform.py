"""`near_uniform`: nearly equal scores."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Recipe, planted_text


@planted_text("neutral", truth="no weight is more than a tenth away from the mean")
def near_uniform(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """Words encoded separately, scores between -.05 and .05."""
    return grown("near_uniform", Recipe("neutral", score="near"), size, seed)
