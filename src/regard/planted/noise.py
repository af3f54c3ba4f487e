"""`noise`: attention on the evidence that contributes only noise."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Recipe, planted_text


@planted_text(
    "neutral",
    truth="the plain mean decides; attention lies on the keyword and adds a number that says nothing about its class",
)
def noise(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """The plain mean decides; attention on the keyword adds a meaningless number."""
    return grown("noise", Recipe("neutral", beside=True, noise=True, pull="evidence"), size, seed)
