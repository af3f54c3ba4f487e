"""Pointing game against a rationale."""

from __future__ import annotations

import numpy as np

from regard.metrics._rationale import free_values, gold
from regard.protocols import Case
from regard.records import Relevance, Score
from regard.registry import metric


@metric(
    better="higher",
    amount=True,
    family="plausibility",
    cite="Zhang et al. 2016",
    formula="1 if the unit with the highest value lies in the rationale, else 0",
    ceiling="1: the strongest unit of every example is marked",
    cost="none",
    misleads="it looks at one unit only; chance is the share of units that the rationale marks, and people do not "
    "mark the evidence that the model used",
)
def pointing_game(case: Case, relevance: Relevance) -> Score:
    """Hit of the strongest unit, 1 or 0: it lies in the rationale (in a picture: a patch in the box of the object).

    Returns 1 or 0 per example; units of equal value share a point. NaN where an example has no rationale, or its
    rationale marks no unit. Ranks by signed value.

    >>> from regard.testing.toy import ToyCase
    >>> case = ToyCase(("truly a wonderful film",))
    >>> pointing_game(case, case.relevance("leave_one_out")).values.tolist()
    [1.0]
    """
    scores = []
    for values, marked in zip(free_values(case, relevance), gold(case), strict=True):
        scores.append(np.nan if marked is None else float(marked[values == values.max()].mean()))
    return relevance.score("pointing_game", np.array(scores, np.float64), better="higher")
