"""How far weights are from equal, and from the same for two inputs."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from regard.measures.degenerate import LIMIT, constant_gap, uniform_gap


def rows(seed: int, heads: int, queries: int, keys: int) -> np.ndarray:
    scores = np.random.default_rng(seed).normal(size=(heads, queries, keys))
    powers = np.exp(scores)
    return powers / powers.sum(-1, keepdims=True)


@given(st.integers(0, 99), st.integers(1, 4), st.integers(1, 5), st.integers(2, 9))
def test_invariants(seed: int, heads: int, queries: int, keys: int) -> None:
    weights, other = rows(seed, heads, queries, keys), rows(seed + 1, heads, queries, keys)
    assert uniform_gap(weights).shape == (heads,)
    # a sink takes a share of each row, padding adds columns of nothing: neither changes how equal the rest is
    padded = np.concatenate([0.7 * weights, np.zeros((heads, queries, 3))], -1)
    np.testing.assert_allclose(uniform_gap(padded), uniform_gap(weights), atol=1e-12)
    np.testing.assert_allclose(constant_gap(weights, other), constant_gap(other, weights))
    np.testing.assert_array_equal(constant_gap(weights, weights), np.zeros(heads))
    order = np.random.default_rng(seed).permutation(keys)
    np.testing.assert_allclose(uniform_gap(weights[..., order]), uniform_gap(weights))


def test_known_answers() -> None:
    np.testing.assert_allclose(uniform_gap(np.full((1, 2, 8), 1 / 8)), [0.0])
    np.testing.assert_allclose(uniform_gap(np.array([[[0.5, 0.3, 0.2]]])), [0.5])
    np.testing.assert_allclose(constant_gap(np.array([[[0.9, 0.1]]]), np.array([[[0.6, 0.4]]])), [0.6])


def test_rows_without_a_choice_say_nothing() -> None:
    causal = np.array([[[1.0, 0.0], [0.9, 0.1]]])
    np.testing.assert_allclose(uniform_gap(causal), [0.8])
    assert np.isnan(uniform_gap(np.array([[[1.0, 0.0]]]))).all()
    assert np.isnan(constant_gap(np.ones((1, 1, 1)), np.ones((1, 1, 1)))).all()


def test_a_sharp_row_is_not_taken_for_a_uniform_one() -> None:
    sharp = np.array([[[1.0 - 1e-30, 1e-30, 0.0]]])
    assert uniform_gap(sharp)[0] > 100 * LIMIT
