"""`half`: attention half on the evidence, half on a decoy."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Recipe
from regard.registry import method


@method(
    "planted", data="planted_texts:task=decoy", task="classification", modality="text", licence="Apache-2.0",
    truth="half of the weight is on the keyword, half on a word without meaning",
)  # fmt: skip
def half(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """As `guided`, with half of the attention on a decoy."""
    return grown("half", Recipe("decoy", pull="half"), size, seed)
