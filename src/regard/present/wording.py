"""The sentences that must not be forgotten, in one place."""

from __future__ import annotations

CAVEAT = (
    "Attention shows where a layer puts weight, not why the model decided. Whether the two go together is a property "
    "of this model and these data (Jain & Wallace 2019; Wiegreffe & Pinter 2019); the numbers of an audit are "
    "evidence about it."
)
NOT_A_VERDICT = "This is evidence, not yet a verdict."
COLOUR_SCALE = (
    "Colours are scaled within each row: the strongest unit of a method is the darkest, so rows cannot be compared by "
    "darkness."
)
LIMITS = (
    (
        "Removing units makes inputs the model was not trained on; a part of every removal number is about that, not "
        "about the explanation. The other removal operators of this run show how much it matters."
    ),
    "Agreement between two methods does not make either of them right; disagreement does not say which one is wrong.",
    "A good score against random units is a low bar: it shows that a ranking is not empty, not that it is faithful.",
    (
        "Only the models, examples and seeds named here were tested. Robustness to noise and attack, retraining with "
        "other seeds, and whether other attention would give the same answer were not."
    ),
)
"""What an audit of this kind does not show."""


def count(n: int, noun: str) -> str:
    """
    >>> count(1, "example"), count(2, "example")
    ('1 example', '2 examples')
    """
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
