from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import rankdata

from regard.measures.ranking import levels, order, ranks, top_k

grid = arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 30)), elements=st.integers(-5, 5).map(float))


@given(grid)
def test_order_is_a_stable_descending_permutation(values: np.ndarray) -> None:
    got = order(values)
    np.testing.assert_array_equal(got, np.argsort(-values, axis=-1, kind="stable"))


@given(grid, st.integers(0, 2**32 - 1))
def test_noise_below_the_tolerance_changes_nothing(values: np.ndarray, seed: int) -> None:
    noisy = values + np.random.default_rng(seed).uniform(-4e-7, 4e-7, values.shape)
    np.testing.assert_array_equal(order(values), order(noisy))
    np.testing.assert_array_equal(levels(values), levels(noisy))


@given(grid)
def test_ranks_are_scipys(values: np.ndarray) -> None:
    np.testing.assert_allclose(ranks(values), rankdata(values, axis=-1))


@given(grid)
def test_levels_are_dense_ranks_from_the_top(values: np.ndarray) -> None:
    np.testing.assert_array_equal(levels(values), rankdata(-values, method="dense", axis=-1) - 1)


@given(grid, st.integers(0, 35))
def test_top_k_takes_k_and_none_below_the_rest(values: np.ndarray, k: int) -> None:
    mask = top_k(values, k)
    assert (mask.sum(-1) == min(k, values.shape[-1])).all()
    if 0 < k < values.shape[-1]:
        for row, inside in zip(values, mask, strict=True):
            assert row[inside].min() >= row[~inside].max()


@settings(max_examples=30)
@given(st.integers(2, 400))
def test_a_long_even_slope_is_not_one_tie(n: int) -> None:
    values = np.arange(n) * 5e-7  # every gap is below the tolerance, the whole is not
    got = order(values)
    assert (np.diff(values[got]) <= 1e-6 + 1e-12).all(), "never more than one tolerance out of order"
    assert len(np.unique(levels(values))) >= n // 3


def test_infinities_rank_and_nan_does_not() -> None:
    assert order([-np.inf, 1.0, np.inf, np.inf]).tolist() == [2, 3, 1, 0]
    with pytest.raises(ValueError, match="NaN"):
        order([1.0, np.nan])


def test_empty_rows() -> None:
    assert order(np.zeros((3, 0))).shape == (3, 0)
    assert ranks(np.zeros(0)).shape == (0,)
    assert top_k(np.zeros(0), 3).shape == (0,)
