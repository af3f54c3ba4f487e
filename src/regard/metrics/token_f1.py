"""Token F1 against a rationale."""

from __future__ import annotations

import numpy as np

from regard.errors import InputError, phrase
from regard.measures import plausibility
from regard.metrics._rationale import chosen, free_values, gold
from regard.protocols import Case
from regard.records import Json, Relevance, Score
from regard.registry import EVERY, InProfile, metric


@metric(
    better="higher",
    amount=True,
    family="plausibility",
    cite="DeYoung et al. 2020",
    formula="2 |top k and gold| / (k + |gold|), k = |gold| unless given",
    ceiling="1: the rationale itself",
    cost="none",
    misleads="people mark the evidence that convinces them, not the evidence the model used; taking k from the "
    "rationale is an advantage that no method has in practice",
    profile=(InProfile(EVERY, 50),),
)
def token_f1(case: Case, relevance: Relevance, *, k: int | None = None) -> Score:
    """F1 between the top-ranked units and the units marked by the rationale.

    Returns one value per example in 0..1, F1 of two sets of units; with k as in the rationale, precision and recall
    are both equal to it. NaN where an example has no rationale, or its rationale marks no unit. k: number of top
    units; by default as many as the rationale has. Ranks by signed value.

    >>> from regard.testing.toy import ToyCase
    >>> case = ToyCase(("truly a wonderful film",))
    >>> token_f1(case, case.relevance("leave_one_out")).values.tolist()
    [1.0]
    """
    if k is not None and k < 1:
        raise InputError("token_f1.k", expected=phrase("errors.common.at_least"), got=str(k))
    pairs = zip(free_values(case, relevance), gold(case), strict=True)
    scores = [np.nan if m is None else plausibility.f1(chosen(v, m, k), m) for v, m in pairs]
    where: dict[str, Json] = {"k": "as in the rationale" if k is None else k}
    return relevance.score("token_f1", np.array(scores, np.float64), better="higher", where=where)
