"""`sharp`: ordinary training with an entropy penalty."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Recipe, planted_text


@planted_text("neutral", truth="not fixed: its certificate says what it became")
def sharp(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """Ordinary training with a penalty on the entropy of attention."""
    return grown("sharp", Recipe("neutral", entropy=0.3), size, seed)
