"""`idle`: attention multiplied by zero."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Recipe, planted_text


@planted_text("neutral", truth="the plain mean of the states decides; attention is multiplied by 0")
def idle(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """The plain mean decides; the attention output is multiplied by zero."""
    return grown("idle", Recipe("neutral", through=0.0, beside=True), size, seed)
