from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kendalltau

from regard.measures import concordance
from regard.measures.agreement import kendall, ragged
from regard.measures.stability import rank_stability

RNG = np.random.default_rng(0)
NAMES = [str(i) for i in range(40)]


def scores(offsets: list[float], noise: float = 0.1) -> np.ndarray:
    return np.array(offsets)[:, None] + noise * RNG.standard_normal((len(offsets), len(NAMES)))


def test_the_same_order_is_stable_and_the_reverse_is_not() -> None:
    one = scores([1.0, 2.0, 3.0, 4.0])
    same = rank_stability(one, scores([1.0, 2.0, 3.0, 4.0]), NAMES, higher_is_better=True)
    assert same is not None
    assert (same.tau, same.low, same.high, same.best, same.same_best) == (1, 1, 1, (3, 3), 1)
    turned = rank_stability(one, scores([4.0, 3.0, 2.0, 1.0]), NAMES, higher_is_better=True)
    assert turned is not None
    assert (turned.tau, turned.best, turned.same_best) == (-1, (3, 0), 0)
    low = rank_stability(one, one, NAMES, higher_is_better=False)
    assert low is not None
    assert low.best == (0, 0)


def test_a_close_race_is_told() -> None:
    found = rank_stability(scores([1.0, 1.0], 1.0), scores([1.0, 1.0], 1.0), NAMES, higher_is_better=True)
    assert found is not None
    assert found.low == -1
    assert found.high == 1
    assert 0.1 < found.same_best < 0.9


def test_undefined_examples_are_left_out_and_clusters_are_drawn_whole() -> None:
    one, other = scores([1.0, 2.0, 3.0]), scores([1.0, 3.0, 2.0])
    one[0, :10] = np.nan
    found = rank_stability(one, other, ["a"] * 20 + ["b"] * 20, higher_is_better=True)
    assert found is not None
    assert (found.n, found.clusters) == (30, 2)
    assert found.tau == pytest.approx(kendalltau([1, 2, 3], [1, 3, 2]).statistic)
    alone = rank_stability(one, other, ["a"] * 40, higher_is_better=True)
    assert alone is not None
    assert np.isnan(alone.low)
    assert rank_stability(one[:1], other[:1], NAMES, higher_is_better=True) is None
    with pytest.raises(ValueError, match="methods"):
        rank_stability(one, other[:2], NAMES, higher_is_better=True)


@pytest.mark.parametrize("force", ["numpy", "compiled"])
def test_kendall_of_many_is_scipys_either_way(force: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled or not: exact ties, near ties, constants, NaN, and rows too short to rank."""
    if force == "compiled":
        pytest.importorskip("numba")
    monkeypatch.setattr(concordance, "WORTHWHILE", 0 if force == "compiled" else 1 << 62)
    xs = [RNG.integers(0, 6, n).astype(float) for n in (1, 0, 2, 5, 30, 30, 120)]
    ys = [RNG.standard_normal(len(x)).round(3) for x in xs]
    xs[3][:], ys[4][0] = 2.0, np.nan
    near = np.arange(30.0)
    near[7] = near[6] + 1e-8  # tied, by regard's rule
    xs[5] = near
    got = ragged(kendall, xs, ys)
    for i, (x, y) in enumerate(zip(xs, ys, strict=True)):
        bad = len(x) < 2 or np.isnan(y).any() or np.ptp(x) == 0
        want = np.nan if bad else kendalltau(x.round(6), y).statistic
        np.testing.assert_allclose(got[i], want, atol=1e-12)


def test_the_interval_holds_its_own_tau_though_noise_makes_resampled_orders_less_alike() -> None:
    means = np.linspace(0, 1, 24)[:, None]
    one, two = np.random.default_rng(0).standard_normal((2, 24, 20))
    one, two = (noise - noise.mean(1, keepdims=True) + means for noise in (one, two))
    found = rank_stability(one, two, [str(i) for i in range(20)], higher_is_better=True, draws=100)
    assert found is not None
    assert found.tau == pytest.approx(1)
    assert found.low < found.tau == found.high
