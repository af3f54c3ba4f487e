"""`places`: attention by position, not by word."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Recipe, planted_text


@planted_text("neutral", truth="the weight of a word depends on its place alone")
def places(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """A BiLSTM whose scores depend on positions alone."""
    return grown("places", Recipe("neutral", encoder="lstm", score="places"), size, seed)
