"""`adversarial_attention`: predict the label also under slightly worse attention."""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from regard.errors import InputError, phrase
from regard.registry import method
from regard.training.batches import Batch
from regard.training.loss import Outcome
from regard.training.terms.cross_entropy import cross_entropy
from regard.training.worst_case import ascent, random_change, replay


@method(
    "term",
    needs=[],
    learning=True,
    cite="Kitada & Iyatomi 2021",
    formula="mean of -log p(label | attention scores + r), r the worst change with |r| <= epsilon",
)
def adversarial_attention(
    outcome: Outcome,
    batch: Batch,
    *,
    direction: Literal["worst", "random"] = "worst",
    epsilon: float = 1.0,
    steps: int = 1,
) -> Tensor:
    """Cross-entropy where the attention scores, before the softmax, were moved against the label ("attention AT").

    epsilon: the Euclidean norm of the change over the words of a text. direction=random: the control arm of the paper.
    In a Transformer each word has one change, the same in every layer, head and query. Their "interpretable" variant
    moves each score along the normalised differences to the others; with one norm for the whole text that is, to first
    order, this very change (the squares of a normalised row sum to 1), so it is no arm of its own here.
    """
    again, real = replay(outcome, "adversarial_attention"), outcome.real
    if real is None:
        raise InputError(
            phrase("errors.training.term_adversarial_attention"),
            expected=phrase("errors.training.network_over_words"),
            got=phrase("errors.common.another_one"),
        )
    like = real.to(outcome.logits.dtype)

    def loss(change: Tensor) -> Tensor:
        return cross_entropy(Outcome(again.reread(change)), batch)

    if direction == "random":
        return loss(random_change(like, epsilon, real))
    return loss(ascent(loss, like, epsilon, steps=steps)[-1])
