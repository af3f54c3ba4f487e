"""Metrics of source scores: values computed on paper, and invariants over random tables."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from regard.measures.source_metrics import (
    ExactAnswers,
    aopc,
    areas,
    comprehensiveness,
    counting_lds,
    curve_sets,
    drawn_subsets,
    keep_chances,
    lds,
    polarity_violations,
    ranking,
    soft_scores,
    soft_subsets,
    sufficiency,
)


def every_subset(count: int) -> list[frozenset[int]]:
    return [frozenset(s) for k in range(count + 1) for s in combinations(range(count), k)]


def additive(effects: list[float], base: float = 2.0) -> ExactAnswers:
    """A model in which every source adds its effect to the log-odds."""
    nats = {s: base - sum(effects[c] for c in s) for s in every_subset(len(effects))}
    return ExactAnswers(len(effects), nats, {s: 1 / (1 + np.exp(-value)) for s, value in nats.items()})


TABLE = additive([3.0, 0.0, 1.0, -0.5])
BEST, WORST = (0, 2, 1, 3), (3, 1, 2, 0)


def test_drops_are_those_of_the_additive_model() -> None:
    assert TABLE.effects.tolist() == [3.0, 0.0, 1.0, -0.5]
    assert TABLE.whole == 3.5
    assert comprehensiveness(TABLE, BEST, 1) == 3.0
    assert comprehensiveness(TABLE, BEST, 2) == 4.0
    assert sufficiency(TABLE, BEST, 1) == 0.5
    assert sufficiency(TABLE, BEST, 4) == 0.0
    assert aopc(TABLE, BEST, 2) == (3.5, 0.0)


def test_the_right_order_has_the_best_areas_of_all_orders() -> None:
    from itertools import permutations

    results = {order: areas(TABLE, order) for order in permutations(range(4))}
    assert min(results, key=lambda order: results[order][0]) == BEST
    assert max(results, key=lambda order: results[order][1]) == BEST
    assert results[WORST][0] > results[BEST][0]


def test_named_sets_are_enough_for_curves_and_areas() -> None:
    sets = set(curve_sets(BEST, 4)) | {frozenset()}
    part = ExactAnswers(4, {s: TABLE.nats[s] for s in sets}, {s: TABLE.probabilities[s] for s in sets})
    assert areas(part, BEST) == areas(TABLE, BEST)
    assert aopc(part, BEST, 4) == aopc(TABLE, BEST, 4)
    with pytest.raises(KeyError):
        aopc(part, (1, 0, 2, 3), 4)


def test_soft_scores_of_certain_draws_are_the_hard_ones() -> None:
    table = additive([3.0, 0.0, 0.0])
    scores = np.array([1.0, -1.0, 0.0])
    assert keep_chances(scores).tolist() == [1.0, 0.0, 0.0]
    sufficient, comprehensive = soft_subsets(scores, 5, np.random.default_rng(0))
    assert set(sufficient) == {frozenset({1, 2})}
    assert set(comprehensive) == {frozenset({0})}
    assert soft_scores(table, sufficient, comprehensive) == (1.0, 1.0)
    wrong = soft_subsets(-scores, 5, np.random.default_rng(0))
    assert soft_scores(table, *wrong) == (0.0, 0.0)
    assert all(np.isnan(soft_scores(additive([0.0, -1.0]), [frozenset()], [frozenset()])))


def test_lds_is_one_for_exact_scores_of_an_additive_model() -> None:
    subsets = drawn_subsets(4, 200, np.random.default_rng(1))
    values = np.array([TABLE.nats[frozenset(np.flatnonzero(~row).tolist())] for row in subsets])
    exact, counting = lds(TABLE.effects, subsets, values), counting_lds(subsets, values)
    assert exact == pytest.approx(1.0)
    assert lds(-TABLE.effects, subsets, values) == pytest.approx(-1.0)
    assert 0.1 < counting < 0.8
    assert counting == pytest.approx(lds(np.ones(4), subsets, values))
    assert np.isnan(lds(np.zeros(4), subsets, values))


def test_polarity_counts_only_clear_effects() -> None:
    effects = TABLE.effects
    assert polarity_violations(effects, effects) == 0.0
    assert polarity_violations(-effects, effects) == 1.0
    assert np.isnan(polarity_violations(effects, 0.01 * effects))


def test_equal_scores_keep_the_order_of_the_prompt() -> None:
    assert ranking(np.zeros(3)) == (0, 1, 2)
