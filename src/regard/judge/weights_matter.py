"""Q1: do these weights matter to the prediction?"""

from __future__ import annotations

from dataclasses import replace

from regard.judge.claim import Draft
from regard.judge.evidence import Evidence
from regard.judge.margins import DOES_NOT_MATTER, FOLLOWS, LEVEL, MATTERS, PASSES_BY
from regard.judge.mean_tests import Mean, Test, all_of, any_of
from regard.records import Answer, Message
from regard.registry import question

QUESTION = "matter"
MARGINS = {"matters": MATTERS, "follows": FOLLOWS, "little": DOES_NOT_MATTER, "passes_by": PASSES_BY}
CHANGE, FLIPS = Message("judge.matter.change"), Message("judge.matter.flips")
ROUTE, ELSEWHERE = Message("judge.matter.route"), Message("judge.matter.elsewhere")


@question(rank=1, family="first")
def matter(evidence: Evidence) -> Draft:
    """Do these weights matter to the prediction?"""
    change = evidence.mean(evidence.of("permuted"), bounds=(0.0, 1.0))
    flips = evidence.mean(evidence.of("permuted_flips"), bounds=(0.0, 1.0))
    route = evidence.mean(evidence.of("route"), share=True)
    above_test, still = _tests(CHANGE, change, MATTERS, DOES_NOT_MATTER)
    tips = Test(FLIPS, "above", DOES_NOT_MATTER, flips)
    same_test = Test(FLIPS, "below", DOES_NOT_MATTER, flips)
    follows, passes_by = _tests(ROUTE, route, FOLLOWS, PASSES_BY)
    tests = (above_test, still, same_test, follows, passes_by)
    if any(what == "unused" for what, _ in evidence.defects):
        return _draft("fails", 0.0, ELSEWHERE, "Q1.unused", tests)
    # either way of failing is enough; the one that needs more examples gets four fifths of the level
    ways = {
        "Q1.weights": (replace(still, times=1.25), replace(same_test, times=1.25)),
        "Q1.route": (replace(passes_by, times=5),),
    }
    rule, rests = min(ways.items(), key=lambda way: all_of(way[1]))
    if evidence.measured("permuted") and all_of(rests) < LEVEL:
        return _draft("fails", all_of(rests), sentence=ELSEWHERE, rule=rule, tests=tests, rests=rests)
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
    not_nothing = any_of((Test(CHANGE, "above", DOES_NOT_MATTER, change), tips))
    not_past = Test(ROUTE, "above", PASSES_BY, route)
    less, part = replace(above_test, claim="below"), replace(follows, claim="below")
    between = (not_nothing, not_past, any_of((less, part)))
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
    elif all_of(between) < LEVEL:
        sentence = Message("judge.matter.in_part" if part.p < less.p else "judge.matter.rarely")
        return _draft("mixed", all_of(between), sentence=sentence, rule="Q1.between", tests=tests, rests=between)
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


def seems_not_to(evidence: Evidence) -> bool:
    """Return whether the estimates suggest failure: nothing changes, or the prediction does not follow."""
    change, flips, route = (evidence.mean(evidence.of(name)) for name in ("permuted", "permuted_flips", "route"))
    still = max(change.estimate, flips.estimate) < DOES_NOT_MATTER
    return evidence.measured("permuted") and bool(still or route.estimate < PASSES_BY)


def _tests(name: Message, mean: Mean, much: float, little: float) -> tuple[Test, Test]:
    return Test(name, "above", much, mean), Test(name, "below", little, mean)


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
