"""`other_head`: the Transformer of `one_head`, to be audited in a head that cannot see the evidence."""

from __future__ import annotations

from regard.datasets.builtin.planted_texts import Size
from regard.models.adapter import TorchModel
from regard.planted.one_head import one_head
from regard.registry import method


@method(
    "planted", data="planted_texts:task=neutral", task="classification", modality="text", licence="Apache-2.0",
    truth="keywords cannot be seen by head 0, and only keywords say anything about the label",
)  # fmt: skip
def other_head(*, size: Size = "s", seed: int = 0, layers: int = 1) -> TorchModel:
    """The model of `one_head` under another name: the zoo audits its head 0, which the decision does not pass."""
    return one_head(size=size, seed=seed, layers=layers)
