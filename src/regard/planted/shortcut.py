"""`shortcut`: a learned shortcut that attention shows."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Recipe, planted_text


@planted_text("shortcut", truth="the weight is on the day's name that the answer follows")
def shortcut(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """A weekday name decides, not the keywords; attention is on the weekday name."""
    return grown("shortcut", Recipe("shortcut", pull="evidence"), size, seed)
