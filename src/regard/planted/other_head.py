"""`other_head`: the Transformer of `one_head`, audited in a head that cannot see the evidence."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.growing.recipe import planted_text
from regard.planted.one_head import one_head


@planted_text("neutral", truth="keywords cannot be seen by head 0, and only keywords say anything about the label")
def other_head(*, size: Size = "s", seed: int = 0, layers: int = 1) -> TorchModel:
    """The model of `one_head`, audited at head 0, which the decision does not use."""
    return one_head(size=size, seed=seed, layers=layers)
