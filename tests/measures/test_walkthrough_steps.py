"""The arithmetic of one row of attention."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

from regard.measures.walkthrough import Walkthrough, walk


@given(st.integers(0, 200), st.integers(1, 7), st.integers(1, 9))
def test_every_step_follows_from_the_one_before(seed: int, keys: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    q, k, v = rng.normal(size=size), rng.normal(size=(keys, size)), rng.normal(size=(keys, 3))
    steps = walk(q, k, factor=size**-0.5, values=v)
    np.testing.assert_allclose(steps.products.sum(-1), k @ q, atol=1e-12)
    np.testing.assert_allclose(steps.weights, softmax(k @ q / np.sqrt(size)), atol=1e-12)
    np.testing.assert_allclose(steps.output, softmax(k @ q / np.sqrt(size)) @ v, atol=1e-12)
    np.testing.assert_allclose(steps.added, 0.0)


def test_a_mask_and_a_sink() -> None:
    scores = np.array([1.0, -np.inf, 2.0])
    steps = walk([1.0], [[1.0], [5.0], [2.0]], factor=1.0, scores=scores, sink=0.5)
    wanted = np.exp([1.0, -np.inf, 2.0]) / (np.exp(scores).sum() + np.exp(0.5))
    np.testing.assert_allclose(steps.weights, wanted, atol=1e-12)
    np.testing.assert_array_equal(steps.added, [0.0, -np.inf, 0.0])


def test_a_row_that_may_read_nothing_is_zero() -> None:
    steps = walk([1.0], [[1.0], [2.0]], factor=1.0, scores=[-np.inf, -np.inf])
    np.testing.assert_array_equal(steps.weights, [0.0, 0.0])


def test_what_is_shown_is_what_matters_most() -> None:
    steps = walk([1.0, 0.0, -3.0], [[1.0, 9.0, 0.1], [0.2, 9.0, 0.5], [-5.0, 0.0, 0.0]], factor=1.0)
    found = Walkthrough("m", "s", 0, 0, 1, 0, "q", ("a", "b", "c"), "dot", steps, steps.weights, 0.0)
    assert found.strongest(2).tolist() == [0, 1]
    assert found.features(2, [0, 1]).tolist() == [0, 2]
    assert found.agrees
    assert not Walkthrough("m", "s", 0, 0, 1, 0, "q", ("a",), "dot", steps, steps.weights, 1e-3).agrees
    assert steps.weights.sum() == pytest.approx(1.0)
