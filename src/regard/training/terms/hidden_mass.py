"""`hidden_mass`: keep attention off given words."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.registry import method
from regard.training.batches import Batch
from regard.training.loss import Outcome

SMALLEST = 1e-6


@method("term", needs=["weights", "hidden"], cite="Pruthi et al. 2020", formula="mean of -log(1 - attention on them)")
def hidden_mass(outcome: Outcome, batch: Batch) -> Tensor:
    """-log(1 - attention on the words to hide), mean over examples: deceptive attention (Pruthi et al. 2020).

    The words are those named with --hide, else the rationale of each example. A text of hidden words only does not
    count: its attention has nowhere else to go.
    """
    weights = outcome.weights
    assert weights is not None
    marks = batch.beside["hidden"].to(weights)
    elsewhere = (weights * (1 - marks)).sum(-1).clamp_min(SMALLEST)
    possible = ((weights > 0) & (marks == 0)).any(-1)
    return torch.where(possible, -elsewhere.log(), torch.zeros_like(elsewhere)).sum() / possible.sum().clamp_min(1)
