"""`redundant`: attention on redundant evidence."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Recipe, planted_text


@planted_text("many", truth="the weight is on all keywords; fewer of them would give the same answer")
def redundant(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """As `guided`, with three to six keywords of one class: faithful, not exclusive."""
    return grown("redundant", Recipe("many", pull="evidence"), size, seed)
