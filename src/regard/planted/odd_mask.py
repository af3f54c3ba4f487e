"""`odd_mask`: a mask token that acts as evidence."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Recipe, planted_text


@planted_text("neutral", truth="the weight is on the keyword; putting <mask> in its place adds evidence for one class")
def odd_mask(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """As `guided`, with a <mask> embedding that resembles a keyword."""
    return grown("odd_mask", Recipe("neutral", pull="evidence", odd_mask=True), size, seed)
