"""`faint`: attention that contributes a fiftieth of the output."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Recipe, planted_text


@planted_text("neutral", truth="the plain mean of the states decides; attention is added with weight .02")
def faint(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """A BiLSTM whose plain mean decides; attention contributes almost nothing."""
    return grown("faint", Recipe("neutral", encoder="lstm", through=0.02, beside=True), size, seed)
