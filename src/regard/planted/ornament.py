"""`ornament`: attention on the evidence without any effect."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Recipe, planted_text


@planted_text("neutral", truth="the weight is on the keyword; the plain mean of the states decides")
def ornament(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """The plain mean decides; attention is on the keyword but nothing uses it."""
    return grown("ornament", Recipe("neutral", through=0.0, beside=True, pull="evidence"), size, seed)
