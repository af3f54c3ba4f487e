"""`one_head`: a Transformer that reads the evidence through one known head."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Recipe, planted_text


@planted_text(
    "neutral", truth="keywords reach the answer through head 2 of the last layer alone; the other heads cannot see them"
)
def one_head(*, size: Size = "s", seed: int = 0, layers: int = 1) -> TorchModel:
    """A four-head Transformer; only head 2 of the last layer sees keywords, and attends to them."""
    return grown(
        "one_head",
        Recipe("neutral", encoder="transformer", pull="evidence", heads=4, layers=layers, hides=True),
        size,
        seed,
    )
