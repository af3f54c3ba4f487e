"""`hidden_shortcut`: a shortcut that attention was taught to hide."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Recipe, planted_text


@planted_text("shortcut", truth="the day's name decides and has no weight")
def hidden_shortcut(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """Deceptive attention: a BiLSTM that uses a day's name and is not seen looking at it."""
    return grown("hidden_shortcut", Recipe("shortcut", encoder="lstm", hide=True, epochs=20), size, seed)
