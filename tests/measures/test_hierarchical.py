"""Paired differences over seeds and examples: known answers, coverage, and what must not be called a difference."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from regard.measures.hierarchical import paired_over_seeds
from regard.measures.paired import paired_difference

NAMES = [f"e{i}" for i in range(40)]
RNG = np.random.default_rng(0)


def test_a_constant_gain_is_found_with_its_size() -> None:
    old = RNG.normal(size=(5, 40))
    found = paired_over_seeds(old + 0.3, old, NAMES)
    assert found.estimate == pytest.approx(0.3)
    assert (found.low, found.high) == (pytest.approx(0.3), pytest.approx(0.3))
    assert found.p < 0.002
    assert (found.n, found.examples) == (200, 40)


def test_no_difference_is_none() -> None:
    old = RNG.normal(size=(5, 40))
    found = paired_over_seeds(old, old, NAMES)
    assert (found.estimate, found.p, found.p_seeds) == (0.0, 1.0, 1.0)


def test_student_over_seeds_is_scipys() -> None:
    gap = RNG.normal(0.1, 1, size=(5, 40))
    found = paired_over_seeds(gap, np.zeros((5, 40)), NAMES)
    expected = stats.ttest_1samp(gap.mean(1), 0.0).pvalue
    assert found.p_seeds == pytest.approx(expected, abs=0.01)  # Wallace's approximation of the tail
    assert found.by_seed == pytest.approx(gap.mean(1))


def test_pairs_with_a_missing_side_do_not_count() -> None:
    old, new = np.zeros((2, 4)), np.ones((2, 4))
    new[0, 1] = old[1, 2] = np.nan
    found = paired_over_seeds(new, old, ["a", "b", "c", "d"])
    assert (found.n, found.examples, found.estimate) == (6, 4, 1.0)
    nothing = paired_over_seeds(np.full((2, 2), np.nan), np.zeros((2, 2)), ["a", "b"])
    assert np.isnan(nothing.estimate)
    assert nothing.p == 1.0


def test_one_seed_is_the_bootstrap_over_examples() -> None:
    gap = RNG.normal(0.2, 1, size=40)
    alone = paired_over_seeds(gap, np.zeros(40), NAMES)
    other, _ = paired_difference(gap, np.zeros(40), NAMES)
    assert alone.estimate == pytest.approx(other.estimate)
    assert (alone.low, alone.high) == (pytest.approx(other.low, abs=0.05), pytest.approx(other.high, abs=0.05))
    assert np.isnan(alone.p_seeds)


def test_seeds_that_disagree_widen_the_interval() -> None:
    noise = RNG.normal(0, 0.05, size=(4, 40))
    agree = paired_over_seeds(noise + 0.1, np.zeros((4, 40)), NAMES)
    torn = paired_over_seeds(noise + np.array([[0.9], [-0.7], [0.5], [-0.3]]), np.zeros((4, 40)), NAMES)
    assert torn.estimate == pytest.approx(agree.estimate, abs=1e-9)
    assert agree.p < 0.01 < 0.3 < torn.p
    assert torn.high - torn.low > 10 * (agree.high - agree.low)


def test_copies_of_an_example_are_one_draw() -> None:
    gap = RNG.normal(0.1, 1, size=(3, 20))
    once = paired_over_seeds(gap, np.zeros((3, 20)), NAMES[:20])
    twice = paired_over_seeds(np.tile(gap, 2), np.zeros((3, 40)), NAMES[:20] * 2)
    assert (twice.low, twice.high) == (pytest.approx(once.low), pytest.approx(once.high))


def test_coverage_with_five_seeds_is_not_below_what_it_says() -> None:
    """Seeds and examples both vary; a 90 % interval must hold the truth in about 90 % of repetitions or more."""
    rng, hits, repeats = np.random.default_rng(1), 0, 150
    for k in range(repeats):
        gap = 0.2 + rng.normal(0, 0.1, (5, 1)) + rng.normal(0, 0.3, (1, 30)) + rng.normal(0, 0.3, (5, 30))
        found = paired_over_seeds(gap, np.zeros((5, 30)), NAMES[:30], level=0.9, draws=400, seed=k)
        hits += found.low <= 0.2 <= found.high
    assert hits / repeats >= 0.86


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="expected two arrays"):
        paired_over_seeds(np.zeros((2, 3)), np.zeros((2, 4)), ["a"] * 4)
