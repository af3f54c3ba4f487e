"""`pruthi`: attention trained to hide the evidence."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Cell, Recipe, planted_text


@planted_text("single", truth="the keyword decides and has no weight; the states of other words carry it")
def pruthi(*, size: Size = "s", seed: int = 0, cell: Cell = "lstm") -> TorchModel:
    """A BiLSTM with deceptive attention (Pruthi et al. 2020): it uses the keyword and puts no attention on it."""
    return grown("pruthi", Recipe("single", encoder=cell, hide=True, epochs=20), size, seed)
