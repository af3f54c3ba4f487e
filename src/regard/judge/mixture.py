"""Q13: does the map deserve the same trust on every input, or is it right on some and wrong on others?

Every input has a share of what can be found that the map finds (`example_trust`): wrong below POOR, right from GOOD on,
partly between. One population of shares on 0..1 with a single peak, however skewed, cannot have more wrong inputs than
partly right ones and more right inputs than partly right ones: the range between is the widest of the three, so the
smaller end holds at most as much. Two populations are claimed if both ends hold more than the middle, more than MIXED
of all inputs are wrong and more than MIXED are right. Each is a one-sided clustered test, and all of them must pass.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from regard.judge.claim import Draft
from regard.judge.evidence import Evidence
from regard.judge.example_trust import ExampleTrust, example_trust
from regard.judge.margins import FOLLOWS, FOUND, GOOD, LEVEL, MATTERS, MIXED, MOSTLY, POOR
from regard.judge.mean_tests import Test, all_of
from regard.judge.slice_columns import CLASS, COLUMN, CONFIDENCE, LABEL, LENGTH
from regard.judge.trust_slices import TrustSlice, trust_slices
from regard.records import Answer, Json, Message
from regard.registry import question

QUESTION = "mixture"
MOST = "Q13.most"
"""The rule under which the map is right on most inputs and wrong on the others."""
MARGINS = {"found": FOUND, "good": GOOD, "poor": POOR, "mixed": MIXED, "mostly": MOSTLY}
EXAMPLES = 3
"""Ids of each kind that a verdict names."""
MOST_SLICES = 6
SLICES = {
    (LENGTH, "short"): "judge.mixture.slice_length_short",
    (LENGTH, "long"): "judge.mixture.slice_length_long",
    (CONFIDENCE, "sure"): "judge.mixture.slice_confidence_sure",
    (CONFIDENCE, "unsure"): "judge.mixture.slice_confidence_unsure",
    (LABEL, "correct"): "judge.mixture.slice_label_correct",
    (LABEL, "error"): "judge.mixture.slice_label_error",
    (CLASS, ""): "judge.mixture.slice_class",
    (COLUMN, ""): "judge.mixture.slice_column",
}
HALVED = (LENGTH, CONFIDENCE, LABEL)


@question(rank=6, family="map")
def mixture(evidence: Evidence) -> Draft | None:
    """Does it deserve the same trust on every input?"""
    trust = example_trust(evidence)
    two = two_populations(evidence)
    if trust is None or not two:
        return None
    many_wrong, many_right, *_ = two
    few_wrong, few_right = (replace(test, claim="below") for test in (many_wrong, many_right))
    mostly = replace(many_right, margin=MOSTLY)
    slices = trust_slices(evidence, trust)
    answer: Answer
    if all(t.passes for t in (*two, mostly)):
        sentence = _two("judge.mixture.fails_most", trust, slices)
        answer, rests, rule = "fails", (*two, mostly), MOST
    elif all(t.passes for t in two):
        answer, rests, rule, sentence = "mixed", two, "Q13.some", _two("judge.mixture.mixed", trust, slices)
    elif few_wrong.passes and not few_right.passes:
        sentence = Message.of("judge.mixture.holds", **_percent(trust))
        answer, rests, rule = "holds", (few_wrong,), "Q13.nowhere wrong"
    elif few_right.passes and not few_wrong.passes:
        sentence = Message.of("judge.mixture.holds_wrong", **_percent(trust))
        answer, rests, rule = "holds", (few_right,), "Q13.nowhere right"
    else:
        sentence = Message.of("judge.mixture.open", **_percent(trust))
        answer, rests, rule = "uninformative", (), "Q13.open"
    return Draft(
        question=QUESTION,
        answer=answer,
        p=all_of(rests) if rests else math.nan,
        sentence=sentence,
        rule=rule,
        margins=MARGINS,
        tests=(*two, mostly),
        rows=_rows(evidence, trust, slices),
        rests=rests,
        deciding=(many_wrong,) if many_wrong.mean.estimate > MIXED else (few_wrong,),
    )


def two_populations(evidence: Evidence) -> tuple[Test, ...]:
    """The tests that all pass where the map is right on some inputs and wrong on others; () where none was measured."""
    trust = example_trust(evidence)
    if trust is None or not trust.measured.any():
        return ()
    wrong, right = (np.where(trust.measured, flags, np.nan) for flags in (trust.wrong, trust.right))
    partly = np.where(trust.defined, 1 - wrong - right, 0.0)
    return (
        Test(Message("judge.mixture.share_wrong"), "above", MIXED, evidence.mean(wrong, share=True)),
        Test(Message("judge.mixture.share_right"), "above", MIXED, evidence.mean(right, share=True)),
        Test(Message("judge.mixture.wrong_beyond"), "above", 0.0, evidence.mean(wrong - partly, bounds=(-1.0, 1.0))),
        Test(Message("judge.mixture.right_beyond"), "above", 0.0, evidence.mean(right - partly, bounds=(-1.0, 1.0))),
    )


def matters_where_right(evidence: Evidence) -> bool:
    """Return whether the weights matter on the inputs that the map is right on, by the rule of "do these weights
    matter".

    Over all inputs the effect of a mixture lies between, because the decision passes by the attention on the others.
    """
    trust = example_trust(evidence)
    if trust is None:
        return False
    change, route = (np.where(trust.right, evidence.of(name), np.nan) for name in ("permuted", "route"))
    moves = evidence.mean(change, bounds=(0.0, 1.0)).p("above", MATTERS) < LEVEL
    return moves and evidence.mean(route, share=True).p("above", FOLLOWS) < LEVEL


def _percent(trust: ExampleTrust) -> dict[str, Json]:
    shares = {"right": trust.right, "wrong": trust.wrong, "silent": ~trust.defined}
    return {name: round(100 * float(flags[trust.measured].mean())) for name, flags in shares.items()}


def _two(key: str, trust: ExampleTrust, slices: tuple[TrustSlice, ...]) -> Message:
    parts = [Message.of(key, **_percent(trust))]
    worst = next((s for s in slices if s.differs and s.gap > 0), None)
    if worst is not None:
        parts.append(slice_message(worst.kind, worst.column, worst.value, worst.inside, worst.outside))
    return Message.of("sentences", parts=parts)


def slice_message(kind: str, column: str, value: str, inside: float, outside: float) -> Message:
    """Name a slice, and how often the map is wrong inside and outside it."""
    where = Message.of(SLICES[kind, value if kind in HALVED else ""], column=column, value=value)
    points = {"inside": round(100 * inside), "outside": round(100 * outside)}
    return Message.of("judge.mixture.slice", where=where, **points)


def _rows(evidence: Evidence, trust: ExampleTrust, slices: tuple[TrustSlice, ...]) -> tuple[Mapping[str, Json], ...]:
    """Examples of both kinds, the clearest first, then the slices."""
    rows: list[Mapping[str, Json]] = []
    lead = np.where(trust.right, trust.marked - trust.chance, trust.best - trust.marked)
    for kind, flags in (("right", trust.right), ("wrong", trust.wrong)):
        order = [int(i) for i in np.argsort(-lead, kind="stable") if flags[i]][:EXAMPLES]
        rows += [_example(evidence, trust, i, kind) for i in order]
    return (*rows, *(s.row for s in slices[:MOST_SLICES]))


def _example(evidence: Evidence, trust: ExampleTrust, i: int, kind: str) -> Mapping[str, Json]:
    return {
        "here": kind,
        "example": evidence.ids[i],
        "share": round(float(trust.share[i]), 3),
        "without marked": round(float(trust.marked[i]), 3),
        "without random": round(float(trust.chance[i]), 3),
        "without best": round(float(trust.best[i]), 3),
    }
