"""The exact adversary against every search, and against brute force."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.measures.divergence import jsd
from regard.measures.exclusivity import displaceable, heaviest, most_distant

CASES = st.tuples(st.integers(2, 7), st.integers(0, 10_000), st.floats(0.01, 1.0))


@settings(max_examples=80, deadline=None)
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


@settings(max_examples=60, deadline=None)
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
