"""`near_uniform`: scores that hardly differ."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Recipe
from regard.registry import method


@method(
    "planted", data="planted_texts:task=neutral", task="classification", modality="text", licence="Apache-2.0",
    truth="no weight is more than a tenth away from the mean",
)  # fmt: skip
def near_uniform(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """Words encoded one by one, scores between -.05 and .05."""
    return grown("near_uniform", Recipe("neutral", score="near"), size, seed)
