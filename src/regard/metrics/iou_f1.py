"""IOU F1 against a rationale."""

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
    formula="F1 over runs of units; a run is found if its intersection over union with one of the other side is >= 0.5",
    ceiling="1: the rationale itself",
    cost="none",
    misleads="scattered units score 0 even if correct, which favours smooth methods; people do not mark the "
    "evidence that the model used",
    profile=(InProfile(EVERY, 51),),
)
def iou_f1(case: Case, relevance: Relevance, *, k: int | None = None) -> Score:
    """F1 between runs of top-ranked units and runs marked by the rationale.

    Returns one value per example in 0..1, F1 over runs of neighbouring units.
    NaN where an example has no rationale, or its rationale marks no unit. k: number of top units; by default as
    many as the rationale has. Ranks by signed value.

    >>> from regard.testing.toy import ToyCase
    >>> case = ToyCase(("truly a wonderful film",))
    >>> iou_f1(case, case.relevance("leave_one_out")).values.tolist()
    [1.0]
    """
    if k is not None and k < 1:
        raise InputError("iou_f1.k", expected=phrase("errors.common.at_least"), got=str(k))
    pairs = zip(free_values(case, relevance), gold(case), strict=True)
    scores = [np.nan if m is None else plausibility.iou_f1(chosen(v, m, k), m) for v, m in pairs]
    where: dict[str, Json] = {"k": "as in the rationale" if k is None else k}
    return relevance.score("iou_f1", np.array(scores, np.float64), better="higher", where=where)
