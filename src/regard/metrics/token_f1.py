"""Token F1 against a rationale."""

from __future__ import annotations

import numpy as np

from regard.errors import InputError
from regard.measures import plausibility
from regard.metrics._rationale import chosen, free_values, gold
from regard.protocols import Case
from regard.records import Json, Relevance, Score
from regard.registry import EVERY, InProfile, metric


@metric(
    better="higher",
    family="plausibility",
    cite="DeYoung et al. 2020",
    formula="2 |top k and gold| / (k + |gold|), k = |gold| unless given",
    ceiling="1: the rationale itself",
    cost="none",
    misleads="what people mark is what convinces them, not what the model used; k taken from the rationale is a help "
    "that no method has in practice",
    profile=(InProfile(EVERY, 50),),
)
def token_f1(case: Case, relevance: Relevance, *, k: int | None = None) -> Score:
    """Are the highest-ranked units those that the rationale marks?

    Comes out: one value per example in 0..1, F1 of two sets of units; with k as in the rationale, precision and recall
    are both equal to it. NaN where an example has no rationale, or its rationale marks no unit. k: how many units are
    taken; by default as many as the rationale has. Signed relevances are ranked by signed value.

    >>> from regard.testing.toy import ToyCase
    >>> case = ToyCase(("truly a wonderful film",))
    >>> token_f1(case, case.relevance("leave_one_out")).values.tolist()
    [1.0]
    """
    if k is not None and k < 1:
        raise InputError("token_f1.k", expected="at least 1", got=str(k))
    pairs = zip(free_values(case, relevance), gold(case), strict=True)
    scores = [np.nan if m is None else plausibility.f1(chosen(v, m, k), m) for v, m in pairs]
    where: dict[str, Json] = {"k": "as in the rationale" if k is None else k}
    return Score(
        metric="token_f1",
        method=relevance.method,
        ids=case.ids,
        values=np.array(scores, np.float64),
        better="higher",
        where=where,
    )
