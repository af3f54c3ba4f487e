"""`cross_entropy`: predict the label."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from regard.registry import method
from regard.training.batches import Batch
from regard.training.loss import Outcome


@method("term", needs=[], cite="", formula="mean of -log p(label)")
def cross_entropy(outcome: Outcome, batch: Batch) -> Tensor:
    """Mean of -log p(label) over examples (or over the words of a translation), each weighted by its class.

    Positions with the label -100 do not count.
    """
    logits, labels = outcome.logits, batch.labels.to(outcome.logits.device)
    weight = batch.beside.get("weight")
    if weight is None:
        return F.cross_entropy(logits.flatten(0, -2), labels.flatten())
    losses = F.cross_entropy(logits, labels, reduction="none")
    weight = weight.to(losses)
    return (weight * losses).sum() / weight.sum()
