"""The sentence of Q2.fails follows the numbers beside it; the answer does not depend on the wording."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made_evidence import OPERATORS, made

from regard.judge.evidence import Evidence
from regard.judge.judge import judge
from regard.records import Message

POINTS = 2


def losing(attention: float, chance: float, *, noise: float = 0.01) -> Evidence:
    """Both classes: p falls by so much without the first words of attention and without random ones; the best: .8."""
    evidence = made(how={"negative": "random", "positive": "random"}, noise=noise)
    rng = np.random.default_rng(1)
    pointing = dict(evidence.pointing)
    for k, operator in enumerate(OPERATORS):
        for ranking, curves in evidence.pointing.items():
            if ranking[1] == operator:
                lost = {"attention": attention, "random:0": chance, "random:1": chance}.get(ranking[0], 0.8)
                jitter = noise * rng.standard_normal(curves.removed.shape) + 1e-4 * k
                kept = None if curves.kept is None else np.full_like(curves.kept, 0.5)
                pointing[ranking] = replace(curves, removed=0.95 - lost + jitter, kept=kept)
    return replace(evidence, pointing=pointing)


@pytest.mark.parametrize(
    ("attention", "chance", "noise", "key"),
    [
        (0.15, 0.05, 0.01, "judge.points.fails_more"),
        (0.313, 0.297, 0.01, "judge.points.fails_little_more"),
        (0.04, 0.01, 0.005, "judge.points.fails_more"),
        (0.10, 0.10, 0.05, "judge.points.fails_not_more"),
        (0.02, 0.10, 0.05, "judge.points.fails_not_more"),
    ],
)
def test_the_wording_follows_ratio_and_interval(attention: float, chance: float, noise: float, key: str) -> None:
    verdict = judge(losing(attention, chance, noise=noise)).verdicts[POINTS]
    assert (verdict.answer, verdict.rule) == ("fails", "Q2.fails")
    assert isinstance(verdict.sentence, Message)
    assert verdict.sentence.key == key


def test_little_more_never_stands_beside_several_times_the_baseline() -> None:
    for attention in (0.06, 0.1, 0.15, 0.2):
        for chance in (0.01, 0.03, 0.05):
            verdict = judge(losing(attention, chance)).verdicts[POINTS]
            if verdict.answer == "fails" and attention >= 2 * chance:
                assert "little_more" not in str(verdict.sentence), (attention, chance)
