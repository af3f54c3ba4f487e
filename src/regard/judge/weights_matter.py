"""Q1: do these weights matter to the prediction?"""

from __future__ import annotations

from dataclasses import replace

from regard.judge.claim import Draft
from regard.judge.evidence import Evidence
from regard.judge.margins import DOES_NOT_MATTER, FOLLOWS, LEVEL, MATTERS, PASSES_BY
from regard.judge.mean_tests import Mean, Test, all_of
from regard.records import Answer, Message
from regard.registry import question

QUESTION = "matter"
MARGINS = {"matters": MATTERS, "follows": FOLLOWS, "little": DOES_NOT_MATTER, "passes_by": PASSES_BY}
CHANGE, FLIPS = Message("judge.matter.change"), Message("judge.matter.flips")
ROUTE, ELSEWHERE = Message("judge.matter.route"), Message("judge.matter.elsewhere")


@question(rank=1, family="first")
def matter(evidence: Evidence) -> Draft:
    """Do these weights matter to the prediction?"""
    change = Mean.of(evidence.of("permuted"), evidence.clusters)
    flips = Mean.of(evidence.of("permuted_flips"), evidence.clusters)
    route = Mean.of(evidence.of("route"), evidence.clusters, share=True)
    above_test, still = _tests(CHANGE, change, MATTERS, DOES_NOT_MATTER)
    tips = Test(FLIPS, "above", DOES_NOT_MATTER, flips)
    same_test = Test(FLIPS, "below", DOES_NOT_MATTER, flips)
    follows, passes_by = _tests(ROUTE, route, FOLLOWS, PASSES_BY)
    tests = (above_test, still, same_test, follows, passes_by)
    if any(what == "unused" for what, _ in evidence.defects):
        return _draft("fails", 0.0, ELSEWHERE, "Q1.unused", tests)
    # either way of failing is enough, so each counts for two
    ways = [2 * all_of((still, same_test)), 2 * passes_by.p]
    if evidence.measured("permuted") and min(ways) < LEVEL:
        rule = "Q1.weights" if ways[0] <= ways[1] else "Q1.route"
        return _draft(
            "fails",
            min(ways),
            sentence=ELSEWHERE,
            rule=rule,
            tests=tests,
            rests=(still, same_test) if ways[0] <= ways[1] else (passes_by,),
        )
    if above_test.passes and follows.passes:
        sentence = Message.of("judge.matter.holds", points=round(100 * change.estimate))
        return _draft(
            "holds",
            all_of((above_test, follows)),
            sentence=sentence,
            rule="Q1.holds",
            tests=tests,
            rests=(above_test, follows),
        )
    not_nothing = min(1.0, 2 * min(Test(CHANGE, "above", DOES_NOT_MATTER, change).p, tips.p))
    not_past = Test(ROUTE, "above", PASSES_BY, route).p
    less, part = Test(CHANGE, "below", MATTERS, change).p, Test(ROUTE, "below", FOLLOWS, route).p
    not_enough = min(1.0, 2 * min(less, part))
    if not evidence.measured("route"):
        if above_test.passes:
            return _draft(
                "mixed",
                above_test.p,
                sentence=Message("judge.matter.no_route"),
                rule="Q1.no route",
                tests=tests,
                rests=(above_test,),
            )
    elif max(not_nothing, not_past, not_enough) < LEVEL:
        sentence = Message("judge.matter.in_part" if part < less else "judge.matter.rarely")
        rests = (_below(follows) if part < less else _below(above_test),)
        return _draft(
            "mixed",
            max(not_nothing, not_past, not_enough),
            sentence=sentence,
            rule="Q1.between",
            tests=tests,
            rests=rests,
        )
    lost = Message("judge.matter.lost")
    return _draft(
        "uninformative",
        float("nan"),
        sentence=lost,
        rule="Q1.open",
        tests=tests,
        rests=(),
        deciding=_nearest(change, route, tests),
    )


def _tests(name: Message, mean: Mean, much: float, little: float) -> tuple[Test, Test]:
    return Test(name, "above", much, mean), Test(name, "below", little, mean)


def _below(test: Test) -> Test:
    """The same comparison the other way round: why it is not more."""
    return replace(test, claim="below")


def _nearest(change: Mean, route: Mean, tests: tuple[Test, ...]) -> tuple[Test, ...]:
    """The comparisons that the estimates lean to."""
    above_test, still, _, follows, passes_by = tests
    one = above_test if change.estimate > (MATTERS + DOES_NOT_MATTER) / 2 else still
    return (one, follows if route.estimate > (FOLLOWS + PASSES_BY) / 2 else passes_by)


def _draft(
    answer: Answer,
    p: float,
    sentence: Message,
    rule: str,
    tests: tuple[Test, ...],
    rests: tuple[Test, ...] = (),
    deciding: tuple[Test, ...] = (),
) -> Draft:
    return Draft(
        question=QUESTION,
        answer=answer,
        p=p,
        sentence=sentence,
        rule=rule,
        margins=MARGINS,
        tests=tests,
        rests=rests,
        deciding=deciding,
    )
