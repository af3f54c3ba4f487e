"""`head_hides`: a Transformer trained to hide the evidence."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.grow import grown
from regard.planted.growing.recipe import Recipe, planted_text


@planted_text("single", truth="the keyword decides and has no weight in the class token's row of the last layer")
def head_hides(*, size: Size = "s", seed: int = 0) -> TorchModel:
    """A two-layer Transformer whose last layer puts no visible attention on the keyword."""
    return grown(
        "head_hides", Recipe("single", encoder="transformer", hide=True, heads=1, layers=2, epochs=24), size, seed
    )
