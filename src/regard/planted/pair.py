"""`pair`: two words decide, attention is on both."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Recipe
from regard.registry import method


@method(
    "planted", data="planted_texts:task=pair", task="classification", modality="text", licence="Apache-2.0",
    truth="the weight is on both keywords, and nothing but the weighted mean reaches the answer",
)  # fmt: skip
def pair(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """As `guided`, with two keywords of one class in every text."""
    return grown("pair", Recipe("pair", pull="evidence"), size, seed)
