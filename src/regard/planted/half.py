"""`half`: attention half on the evidence, half on a decoy."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Recipe, planted_text


@planted_text("decoy", truth="half of the weight is on the keyword, half on a word without meaning")
def half(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """As `guided`, with half of the attention on a decoy."""
    return grown("half", Recipe("decoy", pull="half"), size, seed)
