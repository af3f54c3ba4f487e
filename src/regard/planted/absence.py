"""`absence`: a class that is the answer where nothing speaks for the other."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Recipe
from regard.registry import method


@method(
    "planted", data="planted_texts:task=absence", task="classification", modality="text", licence="Apache-2.0",
    truth="the weight is on the keyword of class 1; class 0 has no evidence",
)  # fmt: skip
def absence(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """Class 1 has a keyword, class 0 has none; attention lies on the keyword."""
    return grown("absence", Recipe("absence", pull="evidence"), size, seed)
