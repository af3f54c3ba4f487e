"""`consistency`: keep prediction and attention under a small change."""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from regard.errors import InputError, phrase
from regard.measures.divergence import jsd
from regard.registry import method
from regard.training.batches import Batch
from regard.training.loss import Outcome
from regard.training.worst_case import ascent, norms, random_change, replay

FIRST = 0.1
"""Share of the radius at which to search for the worst direction: at zero change the distance has no gradient."""


@method(
    "term",
    needs=[],
    learning=True,
    cite="Zhang et al. 2019 (TRADES); Miyato et al. 2018 (worst direction)",
    formula="mean of KL(p(x) || p(x + r)) + attention x JSD(attention(x), attention(x + r)), |r| = epsilon |x|",
)
def consistency(
    outcome: Outcome,
    batch: Batch,
    *,
    direction: Literal["random", "worst"] = "random",
    epsilon: float = 0.1,
    attention: float = 0.0,
) -> Tensor:
    """Movement of the prediction and of attention under noise on the inputs, mean over examples; needs no labels.

    epsilon: as a share of the norm of the example's inputs. attention: how much the movement of attention counts
    (networks with one attention over words). direction=worst: where the answer moves most, found from a random start.
    """
    again = replay(outcome, "consistency")
    if attention and outcome.weights is None:
        expected = phrase("errors.training.network_with_one_attention_over")
        raise InputError(
            phrase("errors.training.term_consistency"), expected=expected, got=phrase("errors.common.another_one")
        )
    vectors = again.vectors
    radius = epsilon * norms(vectors)
    log_probabilities = outcome.logits.log_softmax(-1)

    def moved(change: Tensor, before: Tensor) -> tuple[Tensor, Outcome]:
        after = again(inputs=change)
        # from logarithms: a probability that has become 0 in single precision must not make it infinite
        return (before.exp() * (before - after.logits.log_softmax(-1))).sum(-1).mean(), after

    change = random_change(vectors, radius, outcome.real)
    if direction == "worst":
        change = ascent(lambda c: moved(c, log_probabilities.detach())[0], vectors, radius, start=FIRST * change)[-1]
    distance, after = moved(change, log_probabilities)
    if attention:
        distance = distance + attention * jsd(outcome.weights, after.weights).mean()
    return distance
