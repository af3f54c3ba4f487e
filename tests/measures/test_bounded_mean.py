"""Means of bounded values against exact tails, and what skewed and clustered values must not do to them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.measures.bounded_mean import BoundedMean, cluster_interval, exponential_tail
from regard.measures.intervals import ClusterSums, clopper_pearson
from regard.records import Floats


def single(values: Floats) -> ClusterSums:
    return ClusterSums.of(values, [str(i) for i in range(len(values))])


def shares(count: int, n: int) -> BoundedMean:
    return BoundedMean.of(single((np.arange(n) < count).astype(float)), (0.0, 1.0))


@pytest.mark.parametrize("seed", range(3))
def test_the_tail_of_weighted_exponentials_by_monte_carlo(seed: int) -> None:
    rng = np.random.default_rng(seed)
    coefficients = rng.normal(0.3, 1.0, 15)
    counts = rng.integers(1, 4, 15)
    drawn = rng.gamma(np.tile(counts, (100_000, 1)))
    assert exponential_tail(coefficients, counts) == pytest.approx((drawn @ coefficients >= 0).mean(), abs=0.006)
    repeated = exponential_tail(np.repeat(coefficients, counts))
    assert exponential_tail(coefficients, counts) == pytest.approx(repeated, rel=1e-9)


@pytest.mark.parametrize(("count", "n"), [(0, 60), (3, 100), (50, 100), (97, 100), (40, 400)])
def test_of_yes_or_no_it_is_the_exact_binomial_interval(count: int, n: int) -> None:
    """Up to the approximation of the tail and the step from the normal to Student's distribution."""
    low, high = shares(count, n).interval(0.95)
    exact = clopper_pearson(count, n)
    assert (low, high) == pytest.approx(exact, abs=0.004)


def test_no_movers_seen_is_no_proof_that_there_are_none() -> None:
    """4 % of the examples move by .5: forty examples hold none of them once in five times."""
    nothing = BoundedMean.of(single(np.zeros(40)), (0.0, 1.0))
    assert nothing.p("below", 0.02) == pytest.approx(0.98**40, abs=0.01)
    assert BoundedMean.of(single(np.zeros(200)), (0.0, 1.0)).p("below", 0.02) < 0.02
    assert nothing.p("above", 0.02) == 1.0


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-1, 1), min_size=10, max_size=40),
    st.floats(-0.9, 0.9),
    st.sampled_from([0.05, 0.01]),
    st.booleans(),
)
def test_the_interval_excludes_exactly_what_is_claimed(
    values: list[float], margin: float, level: float, bounded: bool
) -> None:
    mean = BoundedMean.of(single(np.array(values)), (-1.0, 1.0) if bounded else None)
    low, high = mean.interval(1 - 2 * level)
    assert low <= mean.estimate + 1e-9
    assert mean.estimate <= high + 1e-9
    if abs(low - margin) > 1e-6:
        assert (mean.p("above", margin) < level) == (low > margin)
    if abs(high - margin) > 1e-6:
        assert (mean.p("below", margin) < level) == (high < margin)


def test_equal_clusters_count_as_one_draw_each_and_unequal_ones_as_fewer() -> None:
    rng = np.random.default_rng(0)
    base = rng.normal(0.2, 0.3, 20)
    alone = BoundedMean.of(single(base)).interval(0.95)
    copies = ClusterSums.of(np.repeat(base, 5), [str(i) for i in np.repeat(np.arange(20), 5)])
    assert BoundedMean.of(copies).interval(0.95) == pytest.approx(alone)
    sizes = np.array([40] + [2] * 19)
    unequal = ClusterSums.of(np.repeat(base, sizes), [str(i) for i in np.repeat(np.arange(20), sizes)])
    low, high = BoundedMean.of(unequal).interval(0.95)
    assert high - low > 1.5 * (alone[1] - alone[0])


def test_few_clusters_make_a_wide_interval_and_one_none() -> None:
    few = cluster_interval(single(np.linspace(0, 1, 4)))
    assert few.low < 0.1
    assert few.high > 0.9
    assert math.isnan(cluster_interval(single(np.array([0.4]))).low)
    assert math.isnan(cluster_interval(single(np.array([np.nan]))).estimate)
    alike = cluster_interval(single(np.ones(30)), scale="none")
    assert (alike.low, alike.high) == (1.0, 1.0)
    assert cluster_interval(single(np.ones(30))).low == pytest.approx(0.05 ** (1 / 30) - 0.02, abs=0.02)


def test_differences_that_were_never_negative_may_still_be() -> None:
    gains = np.where(np.arange(60) < 4, 0.3, 0.0)
    assert cluster_interval(single(gains), scale="any").low > 0, "an amount"
    assert cluster_interval(single(gains), scale="signed").low < 0
    assert cluster_interval(single(gains), scale="unknown").low < 0, "nothing is known of a metric"


def test_values_that_are_nearly_nothing_hide_rare_large_ones() -> None:
    """Of thirty examples none may be one of the 4 % that move by .5."""
    values = 0.003 * np.abs(np.random.default_rng(0).standard_normal(30))
    assert cluster_interval(single(values)).high > 0.04 * 0.5
    assert cluster_interval(single(values + 0.4)).high < 0.41, "away from 0 they are what they are"


def test_pseudo_observation_weighs_as_the_clusters_that_make_the_sum_skewed() -> None:
    counts = np.array([20, 10, *[1] * 40])
    sums = ClusterSums(tuple(map(str, range(42))), 0.1 * counts, counts, 0)
    equal = ClusterSums(tuple(map(str, range(42))), np.full(42, 0.1), np.ones(42, np.int64), 0)
    assert BoundedMean.of(sums, (0.0, 1.0))._one_more == pytest.approx((20**3 + 10**3 + 40) / (20**2 + 10**2 + 40))
    assert BoundedMean.of(equal, (0.0, 1.0))._one_more == 1.0
