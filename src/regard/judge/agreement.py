"""Q3: does it agree with other measures as well as they agree with each other? Q4: is it exclusive?

Both are reported and never decide the reading: other methods can be wrong together, and an adversary succeeds on
faithful attention too.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

import numpy as np

from regard.judge.claim import Draft
from regard.judge.evidence import Evidence
from regard.judge.margins import AGREE, GOOD, LEVEL, MOST_OTHER, POOR, SOME_OTHER
from regard.judge.mean_tests import Mean, Test, all_of, share_bounds
from regard.records import Answer, Json, Message
from regard.registry import question

AGREE_MARGINS = {"agree": AGREE, "good": GOOD, "poor": POOR}
EXCLUSIVE_MARGINS = {"few": SOME_OTHER, "many": MOST_OTHER}
LOWER = "Q4.lower bound"
CLAIMS: tuple[Literal["above", "below"], ...] = ("above", "below")


@question(rank=3, family="first")
def agree(evidence: Evidence) -> Draft:
    """Does it agree with other measures as well as they agree with each other?"""
    a, c = evidence.of("agreement"), evidence.of("ceiling")
    rests: tuple[Test, ...]
    able = Test(Message("judge.agree.others"), "above", AGREE, evidence.mean(c))
    above_good, above_poor = (evidence.mean(a - part * c, bounds=share_bounds(c, part)) for part in (GOOD, POOR))
    good, not_good = (_beyond_ceiling(GOOD, claim, above_good) for claim in CLAIMS)
    not_bad, bad = (_beyond_ceiling(POOR, claim, above_poor) for claim in CLAIMS)
    answer: Answer
    if not able.passes:
        answer, p, key, rule, rests = "uninformative", math.nan, "judge.agree.lost", "Q3.no ceiling", ()
    elif good.passes:
        answer, p, key, rule, rests = "holds", all_of((able, good)), "judge.agree.holds", "Q3.holds", (able, good)
    elif bad.passes:
        answer, p, key, rule, rests = "fails", all_of((able, bad)), "judge.agree.fails", "Q3.fails", (able, bad)
    elif not_good.passes and not_bad.passes:
        rests = (able, not_good, not_bad)
        answer, p, key, rule = "mixed", all_of(rests), "judge.agree.mixed", "Q3.between"
    else:
        answer, p, key, rule, rests = "uninformative", math.nan, "judge.agree.open", "Q3.open", ()
    row: dict[str, Json] = {"agreement above chance": _mean(a), "ceiling above chance": _mean(c)}
    return Draft(
        question="agree",
        answer=answer,
        p=p,
        sentence=Message(key),
        rule=rule,
        margins=AGREE_MARGINS,
        tests=(able, good, bad),
        rows=(row,),
        rests=rests,
        deciding=(min((good, bad, max((not_good, not_bad), key=lambda t: t.p)), key=lambda t: t.p),)
        if able.passes
        else (able,),
        more=able.mean.estimate > AGREE,
    )


def _beyond_ceiling(share: float, claim: Literal["above", "below"], mean: Mean) -> Test:
    return Test(Message.of("judge.agree.beyond_ceiling", share=share), claim, 0.0, mean)


@question(rank=4, family="first")
def exclusive(evidence: Evidence) -> Draft:
    """Is it exclusive, or would very different attention give the same prediction?"""
    rests: tuple[Test, ...]
    other = evidence.mean(evidence.of("displaceable"), share=True)
    name = Message("judge.exclusive.displaceable")
    few, many = Test(name, "below", SOME_OTHER, other), Test(name, "above", MOST_OTHER, other)
    between = (replace(few, claim="above"), replace(many, claim="below"))
    # runs of earlier versions know only whether the distances are exact as well
    proof = "displaceable_exact" if evidence.measured("displaceable_exact") else "linear"
    exact = evidence.measured(proof) and float(np.nanmin(evidence.of(proof))) > 0.5
    answer: Answer
    if not evidence.measured("displaceable"):
        answer, p, key, rule, rests = "uninformative", math.nan, "judge.exclusive.not_tested", "Q4.not tested", ()
    elif many.passes:
        answer, p, key, rule, rests = "fails", many.p, "judge.exclusive.fails", "Q4.fails", (many,)
    elif few.passes and exact:
        answer, p, key, rule, rests = "holds", few.p, "judge.exclusive.holds", "Q4.holds", (few,)
    elif few.passes:
        answer, p, key, rule, rests = "uninformative", math.nan, "judge.exclusive.searched", LOWER, ()
    elif all_of(between) < LEVEL:
        answer, p, key, rule, rests = "mixed", all_of(between), "judge.exclusive.mixed", "Q4.between", between
    else:
        answer, p, key, rule, rests = "uninformative", math.nan, "judge.exclusive.lost", "Q4.open", ()
    names = ("displaceable", "displaceable_random", "max_jsd", "feasible_jsd", "reach")
    row: dict[str, Json] = {name: _mean(evidence.of(name)) for name in names}
    row["exact"] = exact
    return Draft(
        question="exclusive",
        answer=answer,
        p=p,
        sentence=Message(key),
        rule=rule,
        margins=EXCLUSIVE_MARGINS,
        tests=(few, many),
        rows=(row,),
        rests=rests,
        deciding=_nearest(other.estimate, few, many, between),
        more=exact or other.estimate > SOME_OTHER,  # a search that finds little proves nothing, however long
    )


def _nearest(share: float, few: Test, many: Test, between: tuple[Test, ...]) -> tuple[Test, ...]:
    """The comparisons that would answer as the estimate does."""
    return (few,) if share < SOME_OTHER else (many,) if share > MOST_OTHER else between


def _mean(values: np.ndarray) -> float | None:
    finite = np.isfinite(values)
    return round(float(values[finite].mean()), 4) if finite.any() else None
