"""`faint`: attention that adds a fiftieth of the answer."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Recipe
from regard.registry import method


@method(
    "planted", data="planted_texts:task=neutral", task="classification", modality="text", licence="Apache-2.0",
    truth="the plain mean of the states decides; attention is added with weight .02",
)  # fmt: skip
def faint(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """A BiLSTM whose plain mean decides; attention is hardly heard."""
    return grown("faint", Recipe("neutral", encoder="lstm", through=0.02, beside=True), size, seed)
