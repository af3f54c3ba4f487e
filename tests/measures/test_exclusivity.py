"""The exact adversary against every search, and against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.measures.divergence import jsd
from regard.measures.exclusivity import displaceable, heaviest, log_odds_within, most_distant
from regard.measures.exclusivity_of_many import displaceable_of_many, most_distant_of_many

CASES = st.tuples(st.integers(2, 7), st.integers(0, 10_000), st.floats(0.01, 1.0))


@settings(max_examples=80)
@given(CASES)
def test_no_search_finds_a_more_distant_attention_within_the_cap(case: tuple[int, int, float]) -> None:
    n, seed, cap = case
    rng = np.random.default_rng(seed)
    alpha, single = rng.dirichlet(np.full(n, 0.5)), rng.normal(0, 2, n)
    z = float(alpha @ single)
    value, other = most_distant(alpha, single, z - cap, z + cap)
    assert abs(float(other @ single) - z) <= cap + 1e-9
    assert abs(other.sum() - 1) < 1e-12
    assert np.count_nonzero(other) <= 2
    assert abs(value - float(jsd(other, alpha))) < 1e-9
    tried = np.concatenate([rng.dirichlet(np.full(n, a), 400) for a in (0.05, 0.3, 1.0)])
    # attentions that are pulled to the cap from outside, besides those that lie within it by chance
    pulled = alpha + (tried - alpha) * np.minimum(1, cap / np.maximum(np.abs(tried @ single - z), 1e-12))[:, None]
    inside = np.concatenate([tried[np.abs(tried @ single - z) <= cap], pulled])
    assert value >= float(jsd(inside, np.broadcast_to(alpha, inside.shape)).max()) - 1e-9


def test_where_nothing_fits_attention_stays_what_it_is() -> None:
    value, other = most_distant([0.5, 0.5], [1.0, 2.0], 5.0, 6.0)
    assert value == -1.0
    assert other.tolist() == [0.5, 0.5]


@settings(max_examples=60)
@given(CASES)
def test_displacing_is_what_a_search_without_those_units_finds(case: tuple[int, int, float]) -> None:
    n, seed, cap = case
    rng = np.random.default_rng(seed)
    alpha, single = rng.dirichlet(np.ones(n)), rng.normal(0, 2, n)
    away = heaviest(alpha)
    z = float(alpha @ single)
    left = single[~away]
    weights = rng.dirichlet(np.full(max(1, len(left)), 0.2), 500) @ left if len(left) else np.zeros(0)
    if (np.abs(weights - z) <= cap).any():
        assert displaceable(single, away, z - cap, z + cap)
    if not displaceable(single, away, z - cap, z + cap):
        assert not (np.abs(weights - z) <= cap).any()


def test_the_heaviest_half() -> None:
    assert heaviest([0.5, 0.5]).tolist() == [True, False]
    assert heaviest([0.3, 0.3, 0.4]).sum() == 2
    assert heaviest([1.0]).tolist() == [True]


# ---------------------------------------------------------------------- several classes

MANY = st.tuples(st.integers(2, 6), st.integers(2, 4), st.integers(0, 10_000), st.sampled_from([0.02, 0.05, 0.2]))


def _model(n: int, classes: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(seed)
    alpha, logits = rng.dirichlet(np.full(n, 0.5)), rng.normal(0, 1.5, (n, classes))
    return alpha, logits, _softmax(alpha @ logits), rng


def _softmax(z: np.ndarray) -> np.ndarray:
    e = np.exp(z - z.max(-1, keepdims=True))
    return np.asarray(e / e.sum(-1, keepdims=True))


def _within(shares: np.ndarray, logits: np.ndarray, p: np.ndarray, cap: float) -> np.ndarray:
    return np.asarray(shares[0.5 * np.abs(_softmax(shares @ logits) - p).sum(-1) <= cap])


@settings(max_examples=60)
@given(MANY)
def test_of_many_classes_the_value_lies_between_a_fine_enumeration_and_a_bound_that_nothing_beats(
    case: tuple[int, int, int, float],
) -> None:
    n, classes, seed, cap = case
    alpha, logits, p, rng = _model(n, classes, seed)
    found = most_distant_of_many(alpha, logits, p, cap)
    # two units at a time, on a much finer grid: nothing there is farther
    grid = np.linspace(0, 1, 2001)
    pairs = [
        w[:, None] * np.eye(n)[i] + (1 - w[:, None]) * np.eye(n)[j]
        for i in range(n) for j in range(i + 1, n) for w in (grid,)
    ]  # fmt: skip
    inside = _within(np.concatenate(pairs), logits, p, cap)
    finest = float(jsd(inside, np.broadcast_to(alpha, inside.shape)).max()) if len(inside) else -1.0
    assert found.value >= finest - 1e-3 or finest < 0
    if found.value >= 0:
        assert len(_within(found.other[None], logits, p, cap + 1e-12)) == 1, "the cap is kept"
        assert abs(found.value - float(jsd(found.other, alpha))) < 1e-9
        assert np.count_nonzero(found.other) <= 2
    # any number of units: none is beyond the bound
    tried = np.concatenate([rng.dirichlet(np.full(n, a), 3000) for a in (0.05, 0.3, 1.0)])
    steps = rng.uniform(0, 1, (len(tried), 1))
    reached = _within(np.concatenate([tried, alpha + steps * (tried - alpha)]), logits, p, cap)
    if len(reached):
        assert float(jsd(reached, np.broadcast_to(alpha, reached.shape)).max()) <= found.upper + 1e-9


@settings(max_examples=40)
@given(st.tuples(st.integers(2, 7), st.integers(0, 10_000), st.sampled_from([0.02, 0.05, 0.2])))
def test_two_classes_are_a_case_of_many(case: tuple[int, int, float]) -> None:
    n, seed, cap = case
    alpha, logits, p, _ = _model(n, 2, seed)
    low, high = (np.log(q / (1 - q)) for q in np.clip((p[1] - cap, p[1] + cap), 1e-9, 1 - 1e-9))
    value, _ = most_distant(alpha, logits[:, 1] - logits[:, 0], float(low), float(high))
    found = most_distant_of_many(alpha, logits, p, cap)
    assert abs(found.value - value) < 1e-6
    assert found.proved
    away = heaviest(alpha)
    known = displaceable_of_many(logits, away, p, cap)
    single = logits[:, 1] - logits[:, 0]
    assert known == displaceable(single, away, float(low), float(high)) or known is None


@settings(max_examples=40)
@given(MANY)
def test_displacing_among_many_classes_is_never_denied_wrongly(case: tuple[int, int, int, float]) -> None:
    n, classes, seed, cap = case
    alpha, logits, p, rng = _model(n, classes, seed)
    away = heaviest(alpha)
    left = np.flatnonzero(~away)
    known = displaceable_of_many(logits, away, p, cap)
    if not len(left):
        assert known is False
        return
    shares = np.zeros((6000, n))
    shares[:, left] = rng.dirichlet(np.full(len(left), 0.3), 6000)
    if len(_within(shares, logits, p, cap)):
        assert known is not False


def test_what_a_search_found_on_more_units_counts_if_it_keeps_the_cap() -> None:
    alpha, logits, p, _ = _model(6, 4, 3)
    alone = most_distant_of_many(alpha, logits, p, 0.05)
    far = np.eye(6)[0]  # changes the answer
    assert most_distant_of_many(alpha, logits, p, 0.05, far[None]).value == alone.value
    near = 0.999 * alpha + 0.001 * far
    assert most_distant_of_many(alpha, logits, p, 0.05, near[None]).value >= float(jsd(near, alpha))


def test_an_answer_that_may_become_certain_has_no_bound_on_that_side() -> None:
    alpha, single = [0.9, 0.1, 0.0], [4.0, 4.0, 60.0]  # of 60 nothing is left of 1 - p in double precision
    p = 1 / (1 + np.exp(-4.0))
    found, other = most_distant(alpha, single, *log_odds_within(p, 0.05))
    assert found == pytest.approx(np.log(2))
    assert other.tolist() == [0, 0, 1]
