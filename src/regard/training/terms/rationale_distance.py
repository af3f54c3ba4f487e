"""`rationale_distance`: train attention to agree with human rationales."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.registry import method
from regard.training.batches import Batch
from regard.training.loss import Outcome

SMALLEST = 1e-6


@method("term", needs=["weights", "rationale"], cite="", formula="mean of -log(attention mass on the rationale)")
def rationale_distance(outcome: Outcome, batch: Batch) -> Tensor:
    """-log of the attention on the words that the rationale calls decisive, mean over the examples that have any.

    0 when all attention is on the rationale: a positive weight teaches attention to agree with people.
    """
    weights = outcome.weights
    assert weights is not None
    marks = batch.beside["rationale"].to(weights)
    has_rationale = marks.any(-1)
    mass = (weights * marks).sum(-1).clamp_min(SMALLEST)
    return torch.where(has_rationale, -mass.log(), torch.zeros_like(mass)).sum() / has_rationale.sum().clamp_min(1)
