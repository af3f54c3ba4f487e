"""Paired differences, exact intervals, calibration and centres against independent oracles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from regard.measures.calibration import bins_of, brier, ece, ece_by_chance, ece_interval, nll
from regard.measures.centre import centre_of_mass, centre_shift, middles
from regard.measures.intervals import binomial_tail, clopper_pearson
from regard.measures.mean_interval import mean_interval
from regard.measures.paired import mcnemar, paired_difference, paired_shares


@given(st.integers(1, 400), st.floats(0, 1), st.sampled_from([0.9, 0.95, 0.999]))
@settings(max_examples=60)
def test_exact_interval_is_scipys(n: int, share: float, level: float) -> None:
    k = round(share * n)
    theirs = stats.binomtest(k, n).proportion_ci(level, method="exact")
    assert clopper_pearson(k, n, level=level) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


def test_binomial_tails_and_edges() -> None:
    for k, n, p in [(3, 10, 0.2), (900, 1000, 0.88), (1, 1, 0.5)]:
        assert binomial_tail(k, n, p) == pytest.approx(stats.binom.sf(k - 1, n, p), rel=1e-9)
    assert clopper_pearson(0, 0) == (0.0, 1.0)
    with pytest.raises(ValueError, match="successes"):
        clopper_pearson(3, 2)


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_binomial_test(gained: int, lost: int) -> None:
    theirs = stats.binomtest(gained, gained + lost).pvalue if gained + lost else 1.0
    assert mcnemar(gained, lost) == pytest.approx(theirs, abs=1e-9)


def test_the_paired_interval_covers() -> None:
    rng, covered, truth = np.random.default_rng(0), 0, 0.8 * 0.1 - 0.2 * 0.3
    for _ in range(600):
        old = rng.random(60) < 0.8
        new = np.where(old, rng.random(60) > 0.1, rng.random(60) < 0.3)
        found = paired_shares(new.astype(float), old.astype(float))
        covered += found.low <= -truth <= found.high
    assert 0.93 <= covered / 600 <= 0.995


def test_pairing_helps_and_clusters_count() -> None:
    rng = np.random.default_rng(1)
    base = rng.normal(0, 1, 80)
    new, names = base + 0.1 + rng.normal(0, 0.05, 80), [str(i) for i in range(80)]
    found, p = paired_difference(new, base, names)
    apart = mean_interval(new, names)
    assert found.high - found.low < 0.2 * (apart.high - apart.low)
    assert p < 0.01
    assert paired_difference(base, base, names)[1] == 1.0
    few, _ = paired_difference(new, base, [str(i % 4) for i in range(80)])
    assert few.low <= found.estimate <= few.high
    yes = np.array([1.0] * 30 + [0.0] * 10)
    free, tied = (mean_interval(yes, [str(i % k) for i in range(40)]) for k in (40, 5))
    assert tied.high - tied.low > free.high - free.low


def test_differences_of_gaps_are_not_averaged_in() -> None:
    found, _ = paired_difference([1.0, np.nan, 0.5], [0.5, 0.1, np.nan], ["a", "b", "c"])
    assert found.estimate == 0.5
    assert np.isnan(mean_interval([np.nan], ["a"]).estimate)


def test_scores_of_probabilities_are_sklearns() -> None:
    from sklearn.metrics import brier_score_loss, log_loss

    rng = np.random.default_rng(2)
    p = rng.dirichlet([1, 1], 50)
    y = rng.integers(2, size=50)
    assert nll(p, y).mean() == pytest.approx(log_loss(y, p))
    assert brier(p, y).mean() == pytest.approx(2 * brier_score_loss(y, p[:, 1]))


def test_calibration_error_by_hand_and_by_chance() -> None:
    c = np.array([0.95, 0.92, 0.91, 0.55, 0.52])
    y = np.array([1, 1, 0, 1, 0])
    # bins 15 wide 1/15: 0.95, 0.92 in one pair of bins each; worked out with a loop instead
    gaps = 0.0
    for b in range(15):
        mine = (c > b / 15) & (c <= (b + 1) / 15)
        if mine.any():
            gaps += mine.sum() / 5 * abs(y[mine].mean() - c[mine].mean())
    assert ece(c, y) == pytest.approx(gaps)
    assert bins_of([0.0, 1.0]).tolist() == [0, 14]
    assert np.bincount(bins_of(np.linspace(0, 1, 30) ** 5, bins=15, adaptive=True)).tolist() == [2] * 15
    rng = np.random.default_rng(3)
    sure = rng.uniform(0.5, 1, 300)
    honest, boastful = rng.random(300) < sure, rng.random(300) < 0.5
    names = [str(i) for i in range(300)]
    level = ece_by_chance(sure)
    assert ece(sure, honest) < 2 * level
    found = ece_interval(sure, boastful, names)
    assert found.low > 2 * level
    assert found.low <= found.estimate <= found.high
    assert np.isnan(ece([], []))


def test_centres() -> None:
    grid = [(i, j, i + 1, j + 1) for i in range(4) for j in range(4)]
    x = middles(grid)
    left, right = np.zeros(16), np.zeros(16)
    left[0::4], right[3::4] = 1.0, 1.0
    assert centre_of_mass(left, x).tolist() == pytest.approx([0.5, 0.125])
    assert centre_shift(left, right, x) == pytest.approx(0.75 / 2**0.5)
    assert centre_shift(left, -left, x) == 0.0
    assert np.isnan(centre_shift(np.zeros(16), left, x))
    words = middles([[i, i + 1] for i in range(5)])
    assert centre_shift([1, 0, 0, 0, 0], [0, 0, 0, 0, 1], words) == pytest.approx(0.8)
