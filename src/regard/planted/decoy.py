"""`decoy`: attention on a striking word without evidence."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Cell, Recipe, planted_text


@planted_text("decoy", truth="the keyword decides and has no weight; the weight is on a word without meaning")
def decoy(*, size: Size = "s", seed: int = 0, cell: Cell = "lstm") -> TorchModel:
    """A BiLSTM with deceptive attention on a decoy word."""
    return grown("decoy", Recipe("decoy", encoder=cell, pull="decoy", hide=True, epochs=20), size, seed)
