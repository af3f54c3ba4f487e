"""`plain_lstm`: ordinary training, a BiLSTM."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Cell, Recipe
from regard.registry import method


@method(
    "planted", data="planted_texts:task=neutral", task="classification", modality="text", licence="Apache-2.0",
    truth="not fixed: its certificate says what it became",
)  # fmt: skip
def plain_lstm(*, size: Size = "s", seed: int = 0, cell: Cell = "lstm") -> TorchModel:
    """Ordinary training: a BiLSTM, one keyword."""
    return grown("plain_lstm", Recipe("neutral", encoder=cell), size, seed)
