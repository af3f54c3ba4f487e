from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from scipy.stats import bootstrap as scipy_bootstrap

from regard.measures.aggregate import bounds, pool
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


@given(st.integers(0, 10**6), st.integers(1, 6))
def test_shards_in_any_order_give_the_same_sums(seed: int, cuts: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.choice([0.5, 1.25, -2.0, np.nan], 40)  # exact in binary, so sums are too
    clusters = [f"c{i}" for i in rng.integers(0, 9, 40)]
    whole = ClusterSums.of(values, clusters)
    parts = np.array_split(rng.permutation(40), cuts)
    merged = ClusterSums.of([], [])
    for part in parts:
        merged = merged.merge(ClusterSums.of(values[part], [clusters[i] for i in part]))
    assert merged.names == whole.names
    np.testing.assert_array_equal(merged.total, whole.total)
    np.testing.assert_array_equal(merged.count, whole.count)
    assert merged.undefined == whole.undefined == int(np.isnan(values).sum())


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


def test_pool_tables() -> None:
    values, groups = [9.0, 0.1, -0.5, 0.2, 0.5, -0.5], [-1, 0, 0, 2, 3, 3]
    assert pool(values, groups, how="sum").tolist() == pytest.approx([-0.4, 0, 0.2, 0])
    assert pool(values, groups, how="mean").tolist() == pytest.approx([-0.2, 0, 0.2, 0])
    assert pool(values, groups, how="max").tolist() == [-0.5, 0, 0.2, 0.5]
    assert pool(values, groups, how="first").tolist() == [0.1, 0, 0.2, 0.5]
    assert pool([1.0], [-1]).shape == (0,)
    with pytest.raises(ValueError, match="how must be"):
        pool(values, groups, how="median")  # type: ignore[arg-type]


@given(st.integers(0, 10**6), st.integers(1, 30))
def test_sum_conserves_and_words_keep_their_span(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=n)
    groups = np.cumsum(rng.integers(0, 2, n))
    groups -= groups.min()
    assert pool(values, groups).sum() == pytest.approx(values.sum())
    places = np.stack([np.arange(n), np.arange(n) + 1], -1)
    got = bounds(places, groups)
    assert got[0, 0] == 0
    assert got[-1, 1] == n
    assert (got[1:, 0] == got[:-1, 1]).all()
    assert bounds([[1, 2, 3, 4], [0, 5, 9, 6]], [0, 0]).tolist() == [[0, 2, 9, 6]]
    assert bounds([[3], [2]], [0, 0]).tolist() == [[2]]
