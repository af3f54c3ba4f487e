"""`neighbour`: attention on the word next to the evidence."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Recipe, planted_text


@planted_text("neutral", truth="the weight is on a filler beside the keyword, whose state knows the keyword")
def neighbour(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """A convolution over three words with attention on the word after the keyword, not on the keyword."""
    return grown("neighbour", Recipe("neutral", encoder="three", pull="neighbour"), size, seed)
