"""`attention_entropy`: attend to few words, or, with a negative weight, to many."""

from __future__ import annotations

from torch import Tensor

from regard.measures.entropy import entropy
from regard.registry import method
from regard.training.batches import Batch
from regard.training.loss import Outcome


@method("term", needs=["weights"], cite="", formula="mean of -sum a log a")
def attention_entropy(outcome: Outcome, batch: Batch) -> Tensor:
    """Shannon entropy of the attention in nats, mean over examples; in 0..log n."""
    assert outcome.weights is not None
    spread: Tensor = entropy(outcome.weights).mean()
    return spread
