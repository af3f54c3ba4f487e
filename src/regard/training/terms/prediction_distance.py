"""`prediction_distance`: match the predictions of another model."""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from regard.measures.divergence import jsd, kl, tvd
from regard.registry import method
from regard.training.batches import Batch
from regard.training.loss import Outcome

MEASURES = {"tvd": tvd, "kl": lambda p, q: kl(q, p), "jsd": jsd}


@method("term", needs=["predictions"], cite="Wiegreffe & Pinter 2019", formula="mean of TVD(p, p of the other model)")
def prediction_distance(outcome: Outcome, batch: Batch, *, measure: Literal["tvd", "kl", "jsd"] = "tvd") -> Tensor:
    """Mean distance of the predictions from those of another model (--from): TVD, KL(other || this) or JSD.

    TVD is half the sum of all absolute differences, in 0..1 (the published code halves it once more).
    """
    probabilities = outcome.logits.softmax(-1)
    distance: Tensor = MEASURES[measure](probabilities, batch.beside["predictions"].to(probabilities)).mean()
    return distance
