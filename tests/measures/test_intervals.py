from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from scipy.stats import bootstrap as scipy_bootstrap

from regard.measures.intervals import ClusterSums, bootstrap, wilson
from regard.measures.summarise import role_of, summarise
from regard.records import Score


def skewed(n: int = 60) -> np.ndarray:
    return np.random.default_rng(1).exponential(size=n)


@pytest.mark.parametrize(("kind", "theirs"), [("percentile", "percentile"), ("bca", "BCa")])
def test_bootstrap_of_singletons_is_scipys(kind: str, theirs: str) -> None:
    x = skewed()
    got = bootstrap(ClusterSums.of(x, [f"e{i:03}" for i in range(len(x))]), draws=20_000, kind=kind)  # type: ignore[arg-type]
    want = scipy_bootstrap((x,), np.mean, n_resamples=20_000, method=theirs, rng=np.random.default_rng(0))
    assert got.estimate == pytest.approx(x.mean())
    width = want.confidence_interval.high - want.confidence_interval.low
    assert got.low == pytest.approx(want.confidence_interval.low, abs=0.04 * width)
    assert got.high == pytest.approx(want.confidence_interval.high, abs=0.04 * width)


def test_clusters_that_repeat_themselves_are_not_more_evidence() -> None:
    x = skewed()
    ids = [f"e{i:03}" for i in range(len(x))]
    once = bootstrap(ClusterSums.of(x, ids), seed=3)
    ten = bootstrap(ClusterSums.of(np.tile(x, 10), ids * 10), seed=3)
    assert (ten.low, ten.high) == pytest.approx((once.low, once.high))
    alone = bootstrap(ClusterSums.of(np.tile(x, 10), [f"{i}" for i in range(600)]), seed=3)
    assert alone.high - alone.low < 0.5 * (once.high - once.low)


@pytest.mark.parametrize("kind", ["percentile", "bca"])
def test_unequal_clusters_are_weighted_by_their_size(kind: str) -> None:
    sizes = [1, 2, 3, 5, 8, 13]
    clusters = [f"c{i}" for i, size in enumerate(sizes) for _ in range(size)]
    flat = bootstrap(ClusterSums.of(np.full(sum(sizes), 0.25), clusters), kind=kind)  # type: ignore[arg-type]
    assert (flat.low, flat.estimate, flat.high) == pytest.approx((0.25, 0.25, 0.25)), "nothing varies"
    values = np.array([int(c[1]) for c in clusters], float)
    assert bootstrap(ClusterSums.of(values, clusters)).estimate == pytest.approx(values.mean())


@given(st.integers(0, 10**6))
def test_examples_in_any_order_give_the_same_sums(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.choice([0.1, 1.3, -2.7, np.nan], 40)
    clusters = [f"c{i}" for i in rng.integers(0, 9, 40)]
    order = rng.permutation(40)
    sums, shuffled = ClusterSums.of(values, clusters), ClusterSums.of(values[order], [clusters[i] for i in order])
    assert shuffled.names == sums.names
    np.testing.assert_array_equal(shuffled.total, sums.total)
    np.testing.assert_array_equal(shuffled.count, sums.count)
    assert shuffled.undefined == sums.undefined == int(np.isnan(values).sum())


def test_interval_covers_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    hits = 0
    for trial in range(300):
        x = rng.normal(size=50)
        got = bootstrap(ClusterSums.of(x, [str(i) for i in range(50)]), seed=trial, draws=400)
        hits += got.low <= 0 <= got.high
    assert 0.88 <= hits / 300 <= 0.99


def test_fewer_than_two_clusters_have_no_interval() -> None:
    one = bootstrap(ClusterSums.of([1.0, 3.0], ["a", "a"]))
    assert one.estimate == 2
    assert np.isnan([one.low, one.high]).all()
    assert np.isnan(bootstrap(ClusterSums.of([np.nan], ["a"])).estimate)


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_scipys(pair: tuple[int, int]) -> None:
    k, n = pair
    want = binomtest(k, n).proportion_ci(method="wilson")
    low, high = wilson(k, n)
    assert (float(low), float(high)) == pytest.approx((want.low, want.high), abs=1e-9)


def test_wilson_of_nothing_knows_nothing() -> None:
    low, high = wilson([0, 5], [0, 5])
    assert (low[0], high[0]) == (0, 1)
    assert high[1] == 1


def test_summarise_counts_the_undefined_and_keeps_columns() -> None:
    score = Score(
        "agreement", "attention", ("a", "b", "c"), np.array([0.2, np.nan, 0.4]), "higher", {"other": "leave_one_out"},
        {"null_sd": np.array([[0.1], [np.nan], [0.3]]), "drop": np.zeros((3, 5))},
    )  # fmt: skip
    got = summarise(score, ["p", "p", "q"], seed=7)
    assert (got.estimate, got.n, got.clusters, got.undefined, got.seed) == (pytest.approx(0.3), 2, 2, 1, 7)
    assert got.low <= 0.3 <= got.high
    assert got.where == {"other": "leave_one_out", "null_sd": pytest.approx(0.2)}
    assert role_of("random", {"baseline": "random", "ceiling": ""}) == "baseline"
