"""`either_or`: two words decide only jointly."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Recipe, planted_text


@planted_text("match", truth="two words decide by whether they match, and the weight is on both")
def either_or(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """A BiLSTM; the label is whether two words match, with attention on both."""
    return grown("either_or", Recipe("match", encoder="lstm", pull="evidence", epochs=30), size, seed)
