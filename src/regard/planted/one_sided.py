"""`one_sided`: attention that is faithful for one class only."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Recipe, planted_text


@planted_text("neutral", truth="the weight is on the keywords of class 1 and off those of class 0")
def one_sided(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """A BiLSTM that attends to the keywords of one class and hides those of the other."""
    return grown("one_sided", Recipe("neutral", encoder="lstm", pull="one_sided", epochs=20), size, seed)
