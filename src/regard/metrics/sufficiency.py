"""Sufficiency (ERASER)."""

from __future__ import annotations

from regard.metrics._removal import FRACTIONS, eraser_score
from regard.protocols import Case
from regard.records import Relevance, Score
from regard.registry import EVERY, InProfile, metric


@metric(
    better="lower",
    needs=("removal",),
    cite="DeYoung et al. 2020",
    formula="mean over k of p(x) - p(the top k units of x alone)",
    ceiling="leave_one_out",
    cost="one forward per bin (5)",
    misleads="a few words alone are rarely a natural input; values depend on the model's confidence, so do not "
    "compare models by them",
    profile=(InProfile(EVERY, 1), InProfile(("full",), 20, "operator=finetuned_mask")),
)
def sufficiency(
    case: Case, relevance: Relevance, *, fractions: tuple[float, ...] = FRACTIONS, operator: str | None = None
) -> Score:
    """Drop of the predicted probability when only the most relevant units remain.

    Returns one value per example in -1..1, the mean drop over the bins (each rounded up, at least one unit); NaN
    without removable units. Curve `drop`: (examples, bins). Divisor: the number of bins, as in ERASER's code; times 5/6
    is the formula of the paper. Ranks by signed value, so that supporting units stay longest.
    operator: removal operator, by default the model's preferred one. Use at least two.

    >>> from regard.testing.toy import ToyCase
    >>> case = ToyCase(("wonderful film with a dull end",))
    >>> sufficiency(case, case.relevance("attention")).values.round(3).tolist()
    [-0.046]
    """
    return eraser_score("sufficiency", case, relevance, fractions, operator, keep=True)
