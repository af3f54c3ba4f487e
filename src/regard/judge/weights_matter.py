"""Q1: do these weights matter to the prediction?"""

from __future__ import annotations

from dataclasses import replace

from regard.judge.claim import Draft
from regard.judge.evidence import Evidence
from regard.judge.margins import DOES_NOT_MATTER, FOLLOWS, LEVEL, MATTERS, PASSES_BY
from regard.judge.mean_tests import Mean, Test, all_of
from regard.records import Answer

RULE = (
    f"Holds if permuted weights change the prediction by more than {MATTERS} and more than {FOLLOWS} of the decisions "
    f"follow when the attention's output is taken from a text of another class. Fails if permuted weights change less "
    f"than {DOES_NOT_MATTER}, both prediction and decisions, or fewer than {PASSES_BY} of the decisions follow. Mixed "
    "if it is established to lie between. Where the route cannot be tested it is mixed at best."
)
NOT = "It does not say that the weights point at a reason."
OPEN = "Too few examples to tell whether this attention matters."


def matter(evidence: Evidence) -> Draft:
    change = Mean.of(evidence.of("permuted"), evidence.clusters)
    flips = Mean.of(evidence.of("permuted_flips"), evidence.clusters)
    route = Mean.of(evidence.of("route"), evidence.clusters, share=True)
    moved, still = _tests("change under permuted weights", change, MATTERS, DOES_NOT_MATTER)
    tips = Test("decisions flipped by permuted weights", "above", DOES_NOT_MATTER, flips, {})
    kept = Test("decisions flipped by permuted weights", "below", DOES_NOT_MATTER, flips, {})
    follows, passes_by = _tests("decisions that follow the attention's output", route, FOLLOWS, PASSES_BY)
    tests = (moved, still, kept, follows, passes_by)
    if any(what == "unused" for what, _ in evidence.defects):
        return _draft("fails", 0.0, _elsewhere(), "Q1.unused", tests)
    # either way of failing is enough, so each counts for two
    ways = [2 * all_of((still, kept)), 2 * passes_by.p]
    if evidence.measured("permuted") and min(ways) < LEVEL:
        rule = "Q1.weights" if ways[0] <= ways[1] else "Q1.route"
        return _draft(
            "fails", min(ways), _elsewhere(), rule, tests, (still, kept) if ways[0] <= ways[1] else (passes_by,)
        )
    if moved.passes and follows.passes:
        points = round(100 * change.estimate)
        said = f"If the model looked elsewhere, its answer would change, by {points} points of probability on average."
        return _draft("holds", all_of((moved, follows)), said, "Q1.holds", tests, (moved, follows))
    not_nothing = min(1.0, 2 * min(Test("", "above", DOES_NOT_MATTER, change, {}).p, tips.p))
    not_past = Test("", "above", PASSES_BY, route, {}).p
    less, part = Test("", "below", MATTERS, change, {}).p, Test("", "below", FOLLOWS, route, {}).p
    not_enough = min(1.0, 2 * min(less, part))
    said = "The answer moves a little when attention is changed, but rarely tips."
    if not evidence.measured("route"):
        if moved.passes:
            said = "Other weights would change the answer; whether the decision passes here could not be tested."
            return _draft("mixed", moved.p, said, "Q1.no route", tests, (moved,))
    elif max(not_nothing, not_past, not_enough) < LEVEL:
        if part < less:
            said = (
                "Other weights would change the answer, but only a part of the decision passes through this attention."
            )
        rests = (_below(follows) if part < less else _below(moved),)
        return _draft("mixed", max(not_nothing, not_past, not_enough), said, "Q1.between", tests, rests)
    return _draft("uninformative", float("nan"), OPEN, "Q1.open", tests, (), _nearest(change, route, tests))


def _tests(name: str, mean: Mean, much: float, little: float) -> tuple[Test, Test]:
    return Test(name, "above", much, mean, {}), Test(name, "below", little, mean, {})


def _below(test: Test) -> Test:
    """The same comparison the other way round: why it is not more."""
    return replace(test, claim="below")


def _nearest(change: Mean, route: Mean, tests: tuple[Test, ...]) -> tuple[Test, ...]:
    """The comparisons that the estimates lean to."""
    moved, still, _, follows, passes_by = tests
    one = moved if change.estimate > (MATTERS + DOES_NOT_MATTER) / 2 else still
    return (one, follows if route.estimate > (FOLLOWS + PASSES_BY) / 2 else passes_by)


def _elsewhere() -> str:
    return "The answer stays the same wherever this attention looks; the decision is made elsewhere."


def _draft(
    answer: Answer, p: float, sentence: str, rule: str, tests: tuple[Test, ...], rests: tuple[Test, ...] = (),
    deciding: tuple[Test, ...] = (),
) -> Draft:  # fmt: skip
    return Draft(
        "do these weights matter to the prediction?", answer, p, sentence, OPEN, rule, RULE, NOT, tests, (), rests,
        deciding,
    )  # fmt: skip
