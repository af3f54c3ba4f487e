"""`first_of_many`: attention on one of many redundant words."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Cell, Recipe, planted_text


@planted_text("many", truth="the weight is on the first keyword; other states would give the same answer")
def first_of_many(*, size: Size = "s", seed: int = 0, cell: Cell = "lstm") -> TorchModel:
    """A BiLSTM with three to six keywords of one class and attention on the first: faithful, not exclusive."""
    return grown("first_of_many", Recipe("many", encoder=cell, pull="first"), size, seed)
