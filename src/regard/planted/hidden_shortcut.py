"""`hidden_shortcut`: a shortcut that attention hides."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Recipe, planted_text


@planted_text("shortcut", truth="the day's name decides and has no weight")
def hidden_shortcut(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """A BiLSTM with deceptive attention: it uses a weekday name and puts no attention on it."""
    return grown("hidden_shortcut", Recipe("shortcut", encoder="lstm", hide=True, epochs=20), size, seed)
