"""Group-sequential levels against published constants, a Monte Carlo of the joint distribution, and their inverse."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.measures.alpha_spending import (
    Spending,
    crossing_probability,
    deciding_looks,
    fractions_now,
    level_now,
    nominal_levels,
    overall_p,
)

FIFTHS = [0.2, 0.4, 0.6, 0.8, 1.0]
NORMAL = NormalDist()


def bounds(levels: list[float]) -> list[float]:
    return [-NORMAL.inv_cdf(level) for level in levels]


def test_pococks_and_obrien_and_flemings_constants_cross_at_the_total_level() -> None:
    """K = 5, one-sided .025: 2.413 at every look, 2.040 / sqrt(t) (Jennison and Turnbull 2000, tables 2.1 and 2.3)."""
    pocock = [NORMAL.cdf(-2.413)] * 5
    obrien_fleming = [NORMAL.cdf(-2.040 / t**0.5) for t in FIFTHS]
    assert sum(crossing_probability(FIFTHS, pocock)) == pytest.approx(0.025, abs=3e-5)
    assert sum(crossing_probability(FIFTHS, obrien_fleming)) == pytest.approx(0.025, abs=3e-5)


@pytest.mark.parametrize(
    ("spending", "published"),
    [
        ("obrien_fleming", [4.877, 3.357, 2.680, 2.290, 2.031]),
        ("pocock", [2.438, 2.427, 2.410, 2.397, 2.386]),
    ],
)
def test_spending_functions_give_the_published_bounds(spending: Spending, published: list[float]) -> None:
    """Lan and DeMets' approximations for five equal looks, one-sided .025."""
    assert bounds(nominal_levels(FIFTHS, 0.025, spending)) == pytest.approx(published, abs=1.5e-3)


@pytest.mark.parametrize("spending", ["obrien_fleming", "pocock", "linear", "quadratic"])
def test_unequal_looks_err_at_the_total_level_by_monte_carlo(spending: Spending) -> None:
    looks = np.array([16, 32, 64, 128, 200])
    levels = nominal_levels(list(looks / 200), 0.05, spending)
    assert sum(crossing_probability(list(looks / 200), levels)) == pytest.approx(0.05, abs=1e-4)
    steps = np.sqrt(np.diff(looks, prepend=0)) * np.random.default_rng(0).standard_normal((40_000, len(looks)))
    crossed = (steps.cumsum(1) / np.sqrt(looks) > bounds(levels)).any(1).mean()
    assert crossed == pytest.approx(0.05, abs=0.0045)


def test_skipped_and_unplanned_looks_keep_the_level() -> None:
    for sizes in ([32, 64, 200], [16, 40, 64, 128, 150, 200], [200]):
        fractions = [n / 200 for n in sizes]
        spent = sum(crossing_probability(fractions, nominal_levels(fractions, 0.05)))
        assert spent == pytest.approx(0.05, abs=1e-4)
    assert fractions_now((16, 64), 40) == (0.25, 0.625)
    assert fractions_now((16, 64), 100) == (0.16, 0.64, 1.0)


@settings(max_examples=30, deadline=None)
@given(st.floats(1e-6, 0.4), st.sampled_from([(1.0,), (0.1, 0.2), (0.25, 0.5, 1.0)]))
def test_a_p_is_a_claim_exactly_where_it_is_below_the_level_of_its_look(
    level: float, fractions: tuple[float, ...]
) -> None:
    now = level_now(level, fractions)
    assert now <= level * (1 + 1e-9)
    assert overall_p(now, fractions) == pytest.approx(level, rel=1e-6)
    assert overall_p(0.9 * now, fractions) < level < overall_p(min(1.0, 1.1 * now), fractions)


def test_fractions_that_do_not_increase_are_refused() -> None:
    with pytest.raises(ValueError, match="increasing"):
        nominal_levels([0.5, 0.5], 0.05)


@pytest.mark.parametrize("end", [70, 100, 150, 190])
def test_an_end_that_does_not_depend_on_the_data_may_spend_the_rest_of_the_level(end: int) -> None:
    """Passes that end before the planned maximum: the looks so far were stricter than the new maximum asks for."""
    planned, taken = (16, 32, 64, 200), (16, 32, 64, end)
    early = [level_now(0.05, fractions_now(planned, n)) for n in planned[:3]]
    last, unspent = (level_now(0.05, fractions_now(looks, end)) for looks in (taken, planned))
    wrong = sum(crossing_probability([n / end for n in taken], [*early, last]))
    assert unspent < last
    assert wrong <= 0.0501


def test_looks_that_cannot_claim_spend_nothing() -> None:
    """Sure looks stay, hopeless ones go, and the level of the last look is as if they had not been planned."""
    fractions = (0.1, 0.3, 0.8, 1.0)
    assert deciding_looks(fractions, (0.0, 0.0, 0.0), 0.05) == fractions
    assert deciding_looks(fractions, (0.7, 0.2, 0.04), 0.05) == (1.0,), "a p of .04 is no claim at .8 of the examples"
    assert deciding_looks(fractions, (0.7, 0.2, 0.01), 0.05) == (0.8, 1.0)
    assert level_now(0.05, (1.0,)) > level_now(0.05, (0.8, 1.0)) > level_now(0.05, fractions)
