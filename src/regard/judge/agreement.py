"""Q3: does it agree with other measures as well as they agree with each other? Q4: is it exclusive?

Both are reported and never decide the reading: other methods can be wrong together, and an adversary succeeds on
faithful attention too.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from regard.judge.claim import Draft
from regard.judge.evidence import Evidence
from regard.judge.margins import AGREE, GOOD, MOST_OTHER, POOR, SOME_OTHER
from regard.judge.mean_tests import Mean, Test, all_of
from regard.records import Answer, Json

AGREE_RULE = (
    f"Asked only if the others name the same top word more than {AGREE} above chance. Holds if attention agrees with "
    f"them more than {GOOD} of that, fails if less than {POOR}, mixed otherwise."
)
AGREE_NOT = "It does not make attention faithful: the others may be wrong together. It never decides the reading."
AGREE_OPEN = "The other methods do not agree with each other, so agreement means nothing here."
EXCLUSIVE_RULE = (
    "Displaceable: attention with nothing on the words that hold half of it can keep the prediction within .05. Holds "
    f"if that is so for fewer than {SOME_OTHER} of the texts, fails if for more than {MOST_OTHER}, mixed otherwise."
)
EXCLUSIVE_NOT = (
    "Other attention with the same answer does not make this map wrong: it exists for nearly every faithful model "
    "too. It never decides the reading."
)
LOWER = "Q4.lower bound"


def agree(evidence: Evidence) -> Draft:
    a, c = evidence.of("agreement"), evidence.of("ceiling")
    rests: tuple[Test, ...]
    clusters = evidence.clusters
    able = Test("others agree with each other, above chance", "above", AGREE, Mean.of(c, clusters), {})
    good = Test(f"agreement - {GOOD} x ceiling", "above", 0.0, Mean.of(a - GOOD * c, clusters), {})
    bad = Test(f"agreement - {POOR} x ceiling", "below", 0.0, Mean.of(a - POOR * c, clusters), {})
    answer: Answer
    if not able.passes:
        answer, p, said, rule, rests = "uninformative", math.nan, AGREE_OPEN, "Q3.no ceiling", ()
    elif good.passes:
        answer, p, rule, rests = "holds", all_of((able, good)), "Q3.holds", (able, good)
        said = "It names the same word as other methods, as often as they do among themselves (all may be wrong)."
    elif bad.passes:
        answer, p, rule, rests = "fails", all_of((able, bad)), "Q3.fails", (able, bad)
        said = "Other methods agree on a word, and it is rarely this one."
    else:
        answer, p, said, rule, rests = (
            "mixed",
            able.p,
            "It sides with the other methods in part.",
            "Q3.between",
            (good,),
        )
    shown: dict[str, Json] = {"agreement above chance": _mean(a), "ceiling above chance": _mean(c)}
    return Draft(
        "does it agree with other measures as well as they agree with each other?", answer, p, said, AGREE_OPEN, rule,
        AGREE_RULE, AGREE_NOT, (able, good, bad), (shown,), rests, (able,), able.mean.estimate > AGREE,
    )  # fmt: skip


def exclusive(evidence: Evidence) -> Draft:
    rests: tuple[Test, ...]
    other = Mean.of(evidence.of("displaceable"), evidence.clusters, share=True)
    few = Test("texts whose attention is displaceable", "below", SOME_OTHER, other, {})
    many = Test("texts whose attention is displaceable", "above", MOST_OTHER, other, {})
    linear = evidence.of("linear")
    exact = evidence.measured("linear") and float(np.nanmin(linear)) > 0.5
    answer: Answer
    if not evidence.measured("displaceable"):
        answer, p, said, rule, rests = "uninformative", math.nan, "It was not tested.", "Q4.not tested", ()
    elif many.passes:
        answer, p, rule, rests = "fails", many.p, "Q4.fails", (many,)
        said = "Very different attention would give the same answer; this alone does not make the map wrong."
    elif few.passes and exact:
        answer, p, rule, rests = "holds", few.p, "Q4.holds", (few,)
        said = "No other pattern of attention that ignores these words gives the same answer."
    elif few.passes:
        answer, p, rule, rests = "uninformative", math.nan, LOWER, ()
        said = "No other pattern was found, but this model can only be searched, so there may be one."
    else:
        rests = (replace(few, claim="above"), replace(many, claim="below"))
        answer, p, rule = "mixed", all_of(rests), "Q4.between"
        said = "For some texts other patterns would do as well."
    names = ("displaceable", "displaceable_random", "max_jsd", "feasible_jsd", "reach")
    shown: dict[str, Json] = {name: _mean(evidence.of(name)) for name in names}
    shown["exact"] = exact
    return Draft(
        "is it exclusive, or would very different attention give the same prediction?", answer, p, said,
        "Too few texts to tell whether other attention would do as well.", rule, EXCLUSIVE_RULE, EXCLUSIVE_NOT,
        (few, many), (shown,), rests, (few if other.estimate < (SOME_OTHER + MOST_OTHER) / 2 else many,),
        rule != LOWER,
    )  # fmt: skip


def _mean(values: np.ndarray) -> float | None:
    there = np.isfinite(values)
    return round(float(values[there].mean()), 4) if there.any() else None
