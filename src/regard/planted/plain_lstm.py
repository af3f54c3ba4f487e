"""`plain_lstm`: ordinary training, a BiLSTM."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Cell, Recipe, planted_text


@planted_text("neutral", truth="not fixed: its certificate says what it became")
def plain_lstm(*, size: Size = "s", seed: int = 0, cell: Cell = "lstm") -> TorchModel:
    """Ordinary training: a BiLSTM, one keyword."""
    return grown("plain_lstm", Recipe("neutral", encoder=cell), size, seed)
