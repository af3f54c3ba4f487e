"""What the report says about attacks that do not behave as attacks do."""

from __future__ import annotations

import numpy as np
import pytest

from regard.audits.conclusions.attacks import Check, checks, suspicions
from regard.present.report.robustness.attacks import in_order, suspicion, undecided
from regard.records import Score

pytestmark = pytest.mark.wording  # reads the words of pages, tables or notes

NOISE = "random_noise"


def rate(
    attack: str, turned: int, access: str = "white box", *, role: str | None = None, allowed: str = "x", n: int = 60
) -> Score:
    where = {"attack": attack, "access": access, "constraints": allowed} | ({"role": role} if role else {})
    ids = tuple(f"e{i}" for i in range(n))
    return Score("attack_success", "model", ids, (np.arange(n) < turned).astype(np.float64), "lower", where)


def noise(turned: int, n: int = 60) -> Score:
    return rate(NOISE, turned, "none", role="baseline", n=n)


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        ([rate("pgd", 9), noise(2)], None),
        ([rate("pgd", 0), noise(0)], "proves nothing"),
        (
            [rate("pgd", 0), rate("pgd:eps=0.1", 10, allowed="y"), noise(0)],
            "the attack works and this ball is merely small",
        ),
        ([rate("pgd", 4), rate("square", 14, "black box")], "gradients may be masked"),
        ([rate("pgd", 13), rate("square", 14, "black box")], None),
        ([rate("pgd", 4), rate("square", 14, "black box", allowed="other")], None),
        ([rate("pgd", 14), rate("pgd:eps=0.1", 3, allowed="y")], "more room must never help"),
    ],
)
def test_failed_checks_are_explained(scores: list[Score], words: str | None) -> None:
    sentences = [suspicion(one) for one in suspicions(scores)]
    if words is None:
        assert sentences == []
    else:
        (sentence,) = sentences
        assert words in sentence
        assert "n = 60" in sentence


def test_six_examples_are_too_few_to_say() -> None:
    few = [rate("pgd", 4, n=6), rate("square", 4, "black box", n=6), noise(0, 6)]
    assert suspicions(few) == ()
    found = checks(few)
    assert [(one.name, one.outcome, one.n) for one in found] == [("noise", "open", 6), ("white", "open", 6)]
    # two attacks share the level: six flips by one alone have a chance of 1/64 < .025, and 4 of 6 are 6 of 9
    assert [one.needed for one in found] == [9, 36]
    assert in_order(found) == []
    sentences = undecided(found)
    assert "Too few examples to say whether every attack flips more predictions than noise" in sentences[0]
    assert "6, and about 9 would decide it" in sentences[0]


def test_one_difference_of_twenty_shows_nothing() -> None:
    (check,) = checks([rate("pgd", 3, n=20), noise(2, 20)])
    assert check.outcome == "open"
    (check,) = checks([rate("pgd", 7, n=20), noise(2, 20)])  # five coins alike: 1/32
    assert check.outcome == "passed"


def test_examples_of_one_patient_count_once() -> None:
    scores = [rate("pgd", 6, n=6), noise(0, 6)]
    assert checks(scores)[0].outcome == "passed"
    assert checks(scores, lambda name: "patient 1")[0] == Check("noise", "open", 1, 5)


def test_what_tests_show_is_listed() -> None:
    floor = rate("random_words", 1, "none", role="baseline")
    (both,) = in_order(checks([rate("hotflip", 19), rate("greedy_word", 18, "black box"), floor]))
    assert "noise of the same size (n = 60); attacks with gradients" in both
    assert "larger ball" not in both
    (one,) = in_order(checks([rate("greedy_word", 19, "black box"), floor]))
    assert "attacks with gradients" not in one
    assert in_order(checks([rate("greedy_word", 7, "black box")])) == []  # nothing to compare with
