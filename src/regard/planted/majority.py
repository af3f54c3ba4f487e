"""`majority`: ordinary training on votes."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Recipe, planted_text


@planted_text("majority", truth="not fixed: its certificate says what it became")
def majority(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """Ordinary training on three or five keywords of both classes; the majority decides."""
    return grown("majority", Recipe("majority"), size, seed)
