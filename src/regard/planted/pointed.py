"""`pointed`: attention on the word that decides, where a class may be the answer by default."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Recipe
from regard.registry import method


@method(
    "planted", data="planted_texts:task=single", task="classification", modality="text", licence="Apache-2.0",
    truth="the weight is on the keyword, and nothing but the weighted mean reaches the answer",
)  # fmt: skip
def pointed(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """As `guided`, on texts that all have a keyword: one class may become a default."""
    return grown("pointed", Recipe("single", pull="evidence"), size, seed)
