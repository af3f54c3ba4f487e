"""`one_token`: attention over a single key, trained."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Recipe
from regard.registry import method


@method(
    "planted", data="planted_texts:task=neutral", task="classification", modality="text", licence="Apache-2.0",
    truth="the attention has one key: its weight is always 1",
)  # fmt: skip
def one_token(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """A BiLSTM whose attention reads one key, the mean of the states."""
    return grown("one_token", Recipe("neutral", encoder="lstm", score="mean"), size, seed)
