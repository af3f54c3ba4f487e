"""Formulas of maps: the closed-form null against real shuffles, divergences and linkage against scipy, null spaces."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import jensenshannon, squareform
from scipy.stats import t as student

from regard.measures.conicity import conicity
from regard.measures.maps import map_divergences, mass_on, row_entropy, row_evenness, tight_groups
from regard.measures.null_space import effective_attention
from regard.measures.significance import holm, resampled_means, upper_tail


def maps(heads: int, rows: int, keys: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    weights = rng.gamma(0.3, size=(heads, rows, keys))
    return weights / weights.sum(-1, keepdims=True)


def test_the_null_is_the_mean_and_variance_of_real_shuffles() -> None:
    rng = np.random.default_rng(1)
    weights = maps(1, 1, 9)
    allowed = np.arange(9)[None] < 7
    weights = weights * allowed / (weights * allowed).sum()
    chosen = np.array([[False, True, False, True, True, False, False, False, True]])
    found = mass_on(weights, chosen, allowed)
    drawn = [weights[0, 0, rng.permutation(7)][chosen[0, :7]].sum() for _ in range(40_000)]
    assert found.value[0, 0] == pytest.approx(weights[0, 0, [1, 3, 4]].sum())
    assert found.null[0, 0] == pytest.approx(np.mean(drawn), abs=3e-3)
    assert found.variance[0, 0] == pytest.approx(np.var(drawn), rel=0.03)
    assert found.defined.tolist() == [True]


def test_rows_without_a_choice_are_undefined() -> None:
    weights, allowed = maps(2, 3, 4), np.tril(np.ones((3, 4), bool))
    everything, nothing = mass_on(weights, allowed, allowed), mass_on(weights, ~allowed, allowed)
    assert not everything.defined.any()
    assert not nothing.defined.any()


@given(st.integers(1, 4), st.integers(2, 9), st.integers(0, 99))
@settings(max_examples=40)
def test_evenness_is_between_its_ends(heads: int, keys: int, seed: int) -> None:
    value, defined = row_evenness(maps(heads, 3, keys, seed), np.ones((3, keys), bool))
    assert ((value >= 0) & (value <= 1 + 1e-12)).all()
    assert defined.all()
    flat, _ = row_evenness(np.full((1, 1, keys), 1 / keys), np.ones((1, keys), bool))
    assert flat[0, 0] == pytest.approx(1.0)
    assert row_entropy(np.eye(keys))[0] == pytest.approx(0.0)


def test_divergences_are_those_of_scipy() -> None:
    three = maps(5, 4, 6)
    found = map_divergences(three)
    for i in range(5):
        for j in range(5):
            theirs = np.mean([jensenshannon(three[i, r], three[j, r]) ** 2 for r in range(4)])
            assert found[i, j] == pytest.approx(theirs, abs=1e-9)


def test_groups_are_those_of_complete_linkage() -> None:
    apart = map_divergences(maps(30, 3, 4, seed=5))
    np.fill_diagonal(apart, 0.0)
    apart = (apart + apart.T) / 2
    tree = linkage(squareform(apart, checks=False), "complete")
    for within in (0.02, 0.08, 0.2):
        mine, theirs = tight_groups(apart, within), fcluster(tree, within, "distance")
        assert (np.equal.outer(mine, mine) == np.equal.outer(theirs, theirs)).all()
        for group in range(mine.max() + 1):
            inside = np.flatnonzero(mine == group)
            assert apart[np.ix_(inside, inside)].max() <= within


def test_conicity_of_random_directions_is_one_over_root_n() -> None:
    states = np.random.default_rng(0).normal(size=(50, 25, 1000))
    assert conicity(states).mean() == pytest.approx(1 / 5, abs=0.01)
    assert conicity(states + 100.0).mean() == pytest.approx(1.0, abs=0.01)


def test_effective_attention_gives_the_same_output_and_is_the_shortest_that_does() -> None:
    rng = np.random.default_rng(3)
    weights, values = maps(1, 4, 12)[0], rng.normal(size=(12, 5))
    found = effective_attention(weights, values)
    assert found.dimension == 12 - 5
    assert found.weights @ values == pytest.approx(weights @ values)
    assert found.weights == pytest.approx(np.linalg.lstsq(values.T, (weights @ values).T, rcond=None)[0].T)
    assert (found.unseen > 0.1).all()
    few = effective_attention(weights[:, :4] / weights[:, :4].sum(-1, keepdims=True), values[:4])
    assert few.dimension == 0
    assert few.unseen == pytest.approx(0.0, abs=1e-7)


def test_tail_and_correction() -> None:
    for freedom in (4, 9, 30):
        for x in (-1.0, 0.0, 1.0, 3.0, 6.0):
            theirs = float(student.sf(x, freedom))
            assert float(upper_tail(x, freedom)) == pytest.approx(theirs, rel=0.12)
    assert holm([0.01, float("nan"), 0.02]).tolist()[::2] == pytest.approx([0.02, 0.02])
    assert np.isnan(holm([0.01, float("nan")])[1])


def test_resamples_draw_whole_clusters() -> None:
    values = np.array([[0.0], [0.0], [1.0], [1.0]])
    drawn = resampled_means(values, np.array([0, 0, 1, 1]), np.random.default_rng(0), 2000)
    assert set(np.unique(drawn)) == {0.0, 0.5, 1.0}
    assert drawn.mean() == pytest.approx(0.5, abs=0.03)
    assert np.isnan(resampled_means(values * np.nan, np.array([0, 0, 1, 1]), np.random.default_rng(0), 3)).all()
