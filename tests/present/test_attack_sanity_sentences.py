"""What the report says about attacks that do not behave as attacks do."""

from __future__ import annotations

import numpy as np
import pytest

from regard.audits.conclusions.attacks import checks, suspicions
from regard.present.report.robustness.attacks import in_order, suspicion
from regard.records import Score

pytestmark = pytest.mark.wording  # reads the words of pages, tables or notes

IDS = tuple(f"e{i}" for i in range(20))


def rate(attack: str, turned: int, access: str = "white box", role: str | None = None, allowed: str = "x") -> Score:
    where = {"attack": attack, "access": access, "constraints": allowed} | ({"role": role} if role else {})
    return Score("attack_success", "model", IDS, np.arange(20.0) < turned, "lower", where)


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        ([rate("pgd", 9), rate("random_noise", 2, role="baseline")], None),
        ([rate("pgd", 0), rate("random_noise", 0, role="baseline")], "proves nothing"),
        (
            [rate("pgd", 0), rate("pgd:eps=0.1", 10, allowed="y"), rate("random_noise", 0, role="baseline")],
            "the attack works and this ball is merely small",
        ),
        ([rate("pgd", 4), rate("square", 14, "black box")], "gradients may be masked"),
        ([rate("pgd", 13), rate("square", 14, "black box")], None),
        ([rate("pgd", 4), rate("square", 14, "black box", allowed="other")], None),
        ([rate("pgd", 14), rate("pgd:eps=0.1", 3, allowed="y")], "more room must never help"),
    ],
)
def test_suspicions(scores: list[Score], said: str | None) -> None:
    sentences = [suspicion(one) for one in suspicions(scores)]
    if said is None:
        assert sentences == []
    else:
        (sentence,) = sentences
        assert said in sentence


def test_what_was_checked_is_said_too() -> None:
    noise = rate("random_words", 1, "none", role="baseline")
    (both,) = in_order(checks([rate("hotflip", 9), rate("greedy_word", 7, "black box"), noise]))
    assert "noise of the same size; attacks with gradients" in both
    assert "larger ball" not in both
    (one,) = in_order(checks([rate("greedy_word", 7, "black box"), noise]))
    assert "attacks with gradients" not in one
    assert in_order(checks([rate("greedy_word", 7, "black box")])) == []  # nothing to compare with
