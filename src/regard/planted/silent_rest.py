"""`silent_rest`: attention on the evidence, and no other attention that gives the same answer."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Recipe, planted_text


@planted_text("neutral", truth="the weight is on the keyword, and every attention without it was taught to say nothing")
def silent_rest(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """As `guided`, and attention that leaves the keyword out is taught to answer one half."""
    return grown("silent_rest", Recipe("neutral", pull="evidence", silence=True, epochs=24), size, seed)
