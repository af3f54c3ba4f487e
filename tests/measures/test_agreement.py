from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from regard.measures import agreement as m

SHAPE = st.tuples(st.integers(1, 4), st.integers(2, 25))
tied = SHAPE.flatmap(
    lambda s: st.tuples(*[arrays(np.float64, s, elements=st.integers(-3, 3).map(float)) for _ in range(2)])
)
MEASURES = {
    "kendall": m.kendall,
    "spearman": m.spearman,
    "weighted_kendall": m.weighted_kendall,
    "top_k_overlap": m.top_k_overlap,
    "rbo": m.rbo,
}


@given(tied)
def test_kendall_is_scipys_with_ties(pair: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = pair
    for got, a, b in zip(m.kendall(x, y), x, y, strict=True):
        np.testing.assert_allclose(got, stats.kendalltau(a, b).statistic, atol=1e-12)


@given(tied)
def test_spearman_is_scipys_with_ties(pair: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = pair
    for got, a, b in zip(m.spearman(x, y), x, y, strict=True):
        constant = len(set(a)) == 1 or len(set(b)) == 1
        want = np.nan if constant else stats.spearmanr(a, b).statistic
        np.testing.assert_allclose(got, want, atol=1e-12)


@given(tied)
def test_pearson_is_scipys(pair: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = pair
    for got, a, b in zip(m.pearson(x, y), x, y, strict=True):
        constant = len(set(a)) == 1 or len(set(b)) == 1
        want = np.nan if constant else stats.pearsonr(a, b).statistic
        np.testing.assert_allclose(got, want, atol=1e-9)
    assert np.isnan(m.pearson(np.zeros((1, 0)), np.zeros((1, 0)))).all()


@given(st.integers(2, 40), st.integers(0, 10**6))
def test_weighted_kendall_is_scipys(n: int, seed: int) -> None:
    x, y = np.random.default_rng(seed).permuted(np.broadcast_to(np.arange(float(n)), (2, 3, n)), axis=-1)
    want = [stats.weightedtau(a, b).statistic for a, b in zip(x, y, strict=True)]
    np.testing.assert_allclose(m.weighted_kendall(x, y), want, atol=1e-9)


def test_weighted_kendall_cares_for_the_top() -> None:
    x = np.arange(20.0)
    top, bottom = x.copy(), x.copy()
    top[[18, 19]], bottom[[0, 1]] = top[[19, 18]], bottom[[1, 0]]
    assert m.weighted_kendall(x, top) < m.weighted_kendall(x, bottom)
    assert m.kendall(x, top) == m.kendall(x, bottom)


def naive_rbo(x: np.ndarray, y: np.ndarray, p: float) -> float:
    a, b, n = list(np.argsort(-x, kind="stable")), list(np.argsort(-y, kind="stable")), len(x)
    overlap = [len(set(a[:d]) & set(b[:d])) for d in range(1, n + 1)]
    return (1 - p) / p * sum(o / d * p**d for d, o in enumerate(overlap, 1)) + overlap[-1] / n * p**n


@given(st.integers(1, 30), st.integers(0, 10**6), st.sampled_from([0.5, 0.9, 0.98]))
def test_rbo_is_the_formula_spelled_out(n: int, seed: int, p: float) -> None:
    x, y = np.random.default_rng(seed).permuted(np.broadcast_to(np.arange(float(n)), (2, n)), axis=-1)
    np.testing.assert_allclose(m.rbo(x, y, p=p), naive_rbo(x, y, p), atol=1e-12)


@pytest.mark.parametrize("name", MEASURES)
@settings(max_examples=25)
@given(n=st.integers(2, 30), seed=st.integers(0, 10**6))
def test_laws_of_every_agreement(name: str, n: int, seed: int) -> None:
    measure = MEASURES[name]
    x, y = np.random.default_rng(seed).permuted(np.broadcast_to(np.arange(float(n)), (2, n)), axis=-1)
    got = float(measure(x, y))
    assert -1 - 1e-12 <= got <= 1 + 1e-12
    assert float(measure(x, x)) == pytest.approx(1), "everything agrees with itself"
    assert float(measure(y, x)) == pytest.approx(got), "symmetric"
    assert float(measure(2 * x + 1, 3 * y)) == pytest.approx(got), "only the ranking counts"
    both = measure(np.stack([x, y]), np.stack([y, y]))
    assert both.shape == (2,)
    assert both.tolist() == pytest.approx([got, 1]), "rows do not see each other"


@pytest.mark.parametrize("name", ["kendall", "spearman", "weighted_kendall"])
def test_a_constant_vector_agrees_with_nothing(name: str) -> None:
    got = MEASURES[name](np.array([[1.0, 1.0, 1.0], [1.0, 2.0, 3.0]]), np.array([[1.0, 2.0, 3.0]] * 2))
    assert np.isnan(got[0])
    assert got[1] == pytest.approx(1)


@pytest.mark.parametrize("name", ["kendall", "weighted_kendall", "spearman"])
def test_reversal_is_minus_one(name: str) -> None:
    x = np.arange(9.0)
    assert float(MEASURES[name](x, -x)) == pytest.approx(-1)


@pytest.mark.parametrize("n", [5, 14, 60])
def test_null_sd_of_kendall_by_formula_and_by_permutation(n: int) -> None:
    mean, sd = m.null_spread(m.kendall, n, draws=4000)
    assert abs(mean) < 4 * sd / 4000**0.5
    assert sd == pytest.approx(float(m.null_sd(n)), rel=0.05)
    assert np.isnan(m.null_sd(1))


def test_ragged_equals_one_by_one_and_counts_the_broken() -> None:
    rng = np.random.default_rng(0)
    xs = [rng.random(n) for n in (5, 3, 5, 1, 0, 7)]
    ys = [rng.random(len(x)) for x in xs]
    ys[2][0] = np.nan
    got = m.ragged(m.kendall, xs, ys)
    for i in (0, 1, 5):
        assert got[i] == m.kendall(xs[i], ys[i])
    assert np.isnan(got[[2, 3, 4]]).all()
    with pytest.raises(ValueError):
        m.ragged(m.kendall, xs, ys[:-1])
