"""`conicity`: penalise states that point in the same direction."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from regard.registry import method
from regard.training.batches import Batch
from regard.training.loss import Outcome


@method("term", needs=["states"], cite="Mohankumar et al. 2020", formula="mean over words of cos(state, mean state)")
def conicity(outcome: Outcome, batch: Batch) -> Tensor:
    """Mean cosine of the states with their mean, over the words of a text, then over texts; in -1..1.

    Near 1 all states say the same, and any attention over them gives the same answer. As a term it makes them diverse.
    """
    states, real = outcome.states, outcome.real
    assert states is not None
    assert real is not None
    here = real.unsqueeze(-1).to(states)
    count = here.sum(1).clamp_min(1.0)
    middle = (states * here).sum(1) / count
    cosines = F.cosine_similarity(states, middle.unsqueeze(1), dim=-1)
    return ((cosines * here.squeeze(-1)).sum(1) / count.squeeze(-1)).mean()
