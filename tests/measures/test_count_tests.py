"""Tests of counts, against sums of binomial coefficients by hand."""

from __future__ import annotations

from math import comb

import pytest

from regard.measures.count_tests import (
    ALPHA,
    MARGIN,
    NEARLY_ALL,
    CountTest,
    joint,
    nearly_all,
    no_weaker,
    stronger,
)


def chance(successes: range, n: int, p: float) -> float:
    return sum(comb(n, k) * p**k * (1 - p) ** (n - k) for k in successes)


@pytest.mark.parametrize(
    ("first", "second", "n", "outcome"),
    [
        (5, 0, 6, "passed"),  # 1 of 32 coin series: .031
        (4, 0, 6, "open"),  # 1 of 16: .0625
        (6, 1, 7, "open"),  # 8 of 128: .0625
        (7, 1, 8, "passed"),  # 9 of 256: .035
        (0, 0, 6, "open"),
        (0, 0, 36, "failed"),  # .9 ** 36 = .0225 < .025
        (0, 0, 35, "open"),  # .9 ** 35 = .0250 + .00003
        (0, 7, 60, "failed"),
    ],
)
def test_stronger_needs_a_significant_difference(first: int, second: int, n: int, outcome: str) -> None:
    assert stronger(first, second, n).outcome == outcome


@pytest.mark.parametrize("n", range(1, 40))
def test_sign_test_passes_where_coins_would_rarely_agree(n: int) -> None:
    for first in range(n + 1):
        rare = chance(range(first, n + 1), n, 0.5) < ALPHA
        assert (stronger(first, n - first, n).outcome == "passed") == rare
        assert (no_weaker(n - first, first, n).outcome == "failed") == rare


@pytest.mark.parametrize("n", [1, 6, 20, 24, 58, 59, 60, 93, 150])
def test_nearly_all_is_decided_by_both_binomial_tails(n: int) -> None:
    for k in range(n + 1):
        expected = "open"
        if chance(range(k, n + 1), n, NEARLY_ALL) < ALPHA:
            expected = "passed"
        elif chance(range(k + 1), n, NEARLY_ALL) < ALPHA:
            expected = "failed"
        assert nearly_all(k, n).outcome == expected, k


def test_needed_is_the_first_number_that_decides() -> None:
    assert nearly_all(6, 6) == CountTest("open", 6, 59)
    assert stronger(2, 0, 6) == CountTest("open", 6, 14)  # 5 of 14 by rounding: 4.67
    assert no_weaker(0, 0, 20).needed == 36
    assert nearly_all(19, 20).needed is None, "at .95 itself nothing is decided"
    assert stronger(0, 0, 0) == CountTest("open", 0, None)


@pytest.mark.parametrize("loss", [0.0, 0.1, 0.3])
def test_wrong_outcomes_are_rare(loss: float) -> None:
    """Sum the chances of a wrong outcome over all tables of 40 examples: of 40, `first` and `second` differ."""
    n, other = 40, 0.2
    wrong = {"stronger": 0.0, "equal": 0.0}
    for first in range(n + 1):
        for second in range(n + 1 - first):
            rest = n - first - second
            ways = comb(n, first) * comb(n - first, second)
            null = ways * other**first * other**second * (1 - 2 * other) ** rest
            if stronger(first, second, n).outcome == "passed":
                wrong["stronger"] += null
            worse = ways * other**first * (other + loss) ** second * (1 - 2 * other - loss) ** rest
            if loss >= MARGIN and no_weaker(first, second, n).outcome == "passed":
                wrong["equal"] += worse
    assert max(wrong.values()) <= ALPHA


def test_joint_outcome_is_the_worst_and_names_the_largest_need() -> None:
    passed, opened, failed = CountTest("passed", 40), CountTest("open", 20, 36), CountTest("failed", 30)
    assert joint([passed, opened, CountTest("open", 25, 90)]) == CountTest("open", 20, 90)
    assert joint([passed, opened, CountTest("open", 25, None)]) == CountTest("open", 20, None)
    assert joint([passed, opened, failed]) == CountTest("failed", 20, None)
    assert joint([passed, passed]) == CountTest("passed", 40, None)
