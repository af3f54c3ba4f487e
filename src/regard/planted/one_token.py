"""`one_token`: attention over a single key, trained."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Recipe, planted_text


@planted_text("neutral", truth="the attention has one key: its weight is always 1")
def one_token(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """A BiLSTM whose attention reads one key, the mean of the states."""
    return grown("one_token", Recipe("neutral", encoder="lstm", score="mean"), size, seed)
