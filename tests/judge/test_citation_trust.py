"""Verdicts about methods that rank sources: known answers, and errors held over all looks."""

from __future__ import annotations

import numpy as np
import pytest

from regard.judge.citation_trust import (
    ExactEffects,
    MethodVerdict,
    Share,
    UseVerdict,
    method_verdict,
    planned_looks,
    settled,
    use_verdict,
)
from regard.records import Floats

USED = ExactEffects(np.array([4.0, 0.2, 2.5]), 5.0)
UNUSED = ExactEffects(np.array([0.3, 0.2, -1.0]), 5.0)
WHOLE_TOO_SMALL = ExactEffects(np.array([4.0, 0.2, 2.5]), 0.5)
FIRST, SECOND, THIRD = np.eye(3)


def test_a_prompt_uses_its_sources_if_one_and_all_matter() -> None:
    assert [e.used for e in (USED, UNUSED, WHOLE_TOO_SMALL)] == [True, False, False]


def test_half_of_the_best_effect_is_a_hit() -> None:
    assert [USED.hit(scores) for scores in (FIRST, SECOND, THIRD)] == [True, False, True]


def scored(hits: int, misses: int) -> tuple[list[ExactEffects], list[Floats]]:
    return [USED] * (hits + misses), [FIRST] * hits + [SECOND] * misses


@pytest.mark.parametrize(
    ("hits", "misses", "answer"),
    [(16, 0, "yes"), (14, 2, "not_settled"), (4, 12, "no"), (4, 0, "not_settled"), (38, 2, "yes"), (0, 5, "no")],
)
def test_verdict_of_one_look(hits: int, misses: int, answer: str) -> None:
    verdict = method_verdict(*scored(hits, misses), looks=())
    assert verdict.answer == answer
    assert (verdict.share.k, verdict.share.n) == (hits, hits + misses)


def test_prompts_that_do_not_use_sources_do_not_count() -> None:
    prompts, scores = scored(16, 0)
    verdict = method_verdict([*prompts, *[UNUSED] * 30], [*scores, *[SECOND] * 30], looks=())
    assert (verdict.answer, verdict.share.n) == ("yes", 16)
    assert use_verdict([UNUSED] * 16, ()).answer == "no"
    assert use_verdict([USED] * 16, ()).answer == "yes"
    assert use_verdict([USED, UNUSED] * 8, ()).answer == "not_settled"


def test_an_early_look_needs_more_than_a_single_one() -> None:
    prompts, scores = scored(12, 0)
    alone, early = (method_verdict(prompts, scores, looks) for looks in ((), (12, 200)))
    assert alone.answer == "yes"
    assert early.answer == "not_settled"
    assert early.share.low < alone.share.low


def test_settled_waits_only_for_awaited_methods() -> None:
    share = Share.of([True] * 10, 0.05)
    methods = {"a": MethodVerdict("yes", share), "b": MethodVerdict("not_settled", share)}
    assert settled(UseVerdict("yes", share), methods, ["a"])
    assert not settled(UseVerdict("yes", share), methods, ["a", "b"])
    assert settled(UseVerdict("no", share), methods, ["a", "b"])


@pytest.mark.parametrize("hit_rate", [0.7, 0.699])
def test_wrong_verdicts_at_the_bar_stay_below_the_level(hit_rate: float) -> None:
    """At the bar itself, either verdict is wrong in at most 5 % of the audits, over all looks together."""
    rng, runs = np.random.default_rng(0), 400
    looks = planned_looks(16, 60)
    errors = {"yes": 0, "no": 0, "not_settled": 0}
    for _ in range(runs):
        hits = rng.random(60) < hit_rate
        answers = []
        for n in looks:
            answers.append(method_verdict(*scored(int(hits[:n].sum()), int((~hits[:n]).sum())), looks).answer)
            if answers[-1] != "not_settled":
                break
        errors[answers[-1]] += 1
    slack = 2.5 * (0.05 * 0.95 / runs) ** 0.5
    assert errors["yes"] / runs <= 0.05 + slack
    assert errors["no"] / runs <= 0.05 + slack
    assert errors["yes"] + errors["no"] > 0, "a rule that never speaks proves nothing"
