"""`neighbour`: attention on the word beside the evidence."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Recipe
from regard.registry import method


@method(
    "planted", data="planted_texts:task=neutral", task="classification", modality="text", licence="Apache-2.0",
    truth="the weight is on a filler beside the keyword, whose state knows the keyword",
)  # fmt: skip
def neighbour(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """A convolution over three words, attention on the word after the keyword: it matters and points beside."""
    return grown("neighbour", Recipe("neutral", encoder="three", pull="neighbour"), size, seed)
