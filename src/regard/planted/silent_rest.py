"""`silent_rest`: attention on the evidence, with no alternative that gives the same prediction."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Recipe, planted_text


@planted_text("neutral", truth="the weight is on the keyword, and every attention without it was taught to say nothing")
def silent_rest(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """As `guided`; attention that avoids the keyword is trained to give equal probabilities."""
    return grown("silent_rest", Recipe("neutral", pull="evidence", silence=True, epochs=24), size, seed)
