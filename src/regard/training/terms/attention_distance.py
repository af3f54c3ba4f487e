"""`attention_distance`: match the attention of another model, or, with a negative weight, avoid it."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from regard.measures.divergence import jsd, kl
from regard.registry import method
from regard.training.batches import Batch
from regard.training.loss import Outcome

SMALLEST = 1e-12
"""Minimum weight of the other model: KL is infinite for weights that became 0 in single precision."""


@method(
    "term",
    needs=["weights", "attention"],
    cite="Wiegreffe & Pinter 2019",
    formula="mean of KL(attention || attention of the other model)",
)
def attention_distance(outcome: Outcome, batch: Batch, *, measure: Literal["kl", "jsd"] = "kl") -> Tensor:
    """Distance of attention from that of another model (--from): KL(this || other) or JSD in nats, mean over examples.

    With a weight below 0 the network is paid for looking elsewhere: the adversary of Wiegreffe & Pinter is
    prediction_distance=1, attention_distance=-lambda. KL has no upper bound, so lambda must be small (about 1e-3).
    """
    weights = outcome.weights
    assert weights is not None
    other = batch.beside["attention"].to(weights)
    other = torch.where(weights > 0, other.clamp_min(SMALLEST), other)
    distance: Tensor = (kl if measure == "kl" else jsd)(weights, other).mean()
    return distance
