"""`squared_error`: predict the number."""

from __future__ import annotations

from torch import Tensor

from regard.registry import method
from regard.training.batches import Batch
from regard.training.loss import Outcome


@method("term", needs=[], cite="", formula="mean of (forecast - value)^2 / scale^2")
def squared_error(outcome: Outcome, batch: Batch) -> Tensor:
    """Mean squared difference of a forecast (batch, horizon) and what came, in units of the series' own variance."""
    values = batch.labels.to(outcome.logits)
    scale = batch.beside.get("scale")
    gap = outcome.logits - values if scale is None else (outcome.logits - values) / scale.to(values)
    return gap.square().mean()
