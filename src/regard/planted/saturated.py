"""`saturated`: predictions too confident to show small changes."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Recipe, planted_text


@planted_text("neutral", truth="the weight is on the keyword; logits are six times as large as they were trained")
def saturated(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """As `guided`, with logits multiplied by six."""
    return grown("saturated", Recipe("neutral", pull="evidence", scale=6.0), size, seed)
