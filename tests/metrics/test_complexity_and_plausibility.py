"""Complexity and plausibility: closed forms, scipy, scikit-learn."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import entropy as scipy_entropy

from regard.errors import InputError
from regard.measures.complexity import gini as gini_of
from regard.measures.plausibility import average_precision, expected_average_precision, f1, inside, iou_f1, runs
from regard.metrics.auprc import auprc
from regard.metrics.effective_units import effective_units
from regard.metrics.entropy import entropy
from regard.metrics.gini import gini
from regard.metrics.iou_f1 import iou_f1 as iou_metric
from regard.metrics.pointing_game import pointing_game
from regard.metrics.token_f1 import token_f1
from regard.records import Relevance
from regard.testing.metric_rules import planted
from regard.testing.toy import TEXTS, ToyCase

CASE = ToyCase(TEXTS[:-1])
masks = st.integers(1, 14).flatmap(lambda n: st.tuples(*[st.lists(st.booleans(), min_size=n, max_size=n)] * 2))


def shared_by(k: int) -> Relevance:
    """k units of every text with the same relevance, the others none."""
    rows = []
    for units in CASE.units:
        row = np.zeros(len(units))
        row[np.flatnonzero(units.free)[:k]] = -2.0
        rows.append(row)
    return Relevance.of("planted", CASE.ids, rows, signed=True)


@pytest.mark.parametrize("k", [1, 3])
def test_k_equal_units_count_as_k(k: int) -> None:
    n = np.array([int(u.free.sum()) for u in CASE.units])
    there = np.minimum(n, k)
    np.testing.assert_allclose(effective_units(CASE, shared_by(k)).values, there)
    np.testing.assert_allclose(gini(CASE, shared_by(k)).values, 1 - there / n)
    got = entropy(CASE, shared_by(k)).values
    np.testing.assert_allclose(got[n > 1], np.log(there[n > 1]) / np.log(n[n > 1]))
    assert np.isnan(got[n == 1]).all()


def test_entropy_is_scipys_of_the_magnitudes() -> None:
    drawn = planted(CASE, "random")
    want = [scipy_entropy(np.abs(row[units.free])) for row, units in zip(drawn, CASE.units, strict=True)]
    np.testing.assert_allclose(entropy(CASE, drawn).curves["nats"][:, 0], want, atol=1e-12)


@given(st.lists(st.floats(0, 10), min_size=1, max_size=20))
def test_gini_is_the_mean_difference(values: list[float]) -> None:
    v = np.array(values)
    if v.sum() < 1e-6:
        return
    want = np.abs(v[:, None] - v[None]).sum() / (2 * len(v) * v.sum())
    assert float(gini_of(v)) == pytest.approx(want, abs=1e-9)


@settings(max_examples=25)
@given(st.integers(2, 30), st.integers(0, 10**6))
def test_average_precision_is_scikit_learns(n: int, seed: int) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(seed)
    gold = rng.random(n) < 0.4
    values = rng.integers(0, 6, n).astype(float)  # with ties
    if not gold.any() or gold.all():
        assert np.isnan(average_precision(values, gold))
    else:
        assert average_precision(values, gold) == pytest.approx(metrics.average_precision_score(gold, values))


@settings(max_examples=40)
@given(masks)
def test_f1_is_scikit_learns(pair: tuple[list[bool], list[bool]]) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    chosen, gold = pair
    if any(gold):
        assert f1(chosen, gold) == pytest.approx(metrics.f1_score(gold, chosen))
    else:
        assert np.isnan(f1(chosen, gold))


def spelled_out(chosen: list[bool], gold: list[bool]) -> float:
    """ERASER's span matching with sets of positions."""

    def spans(mask: list[bool]) -> list[set[int]]:
        found: list[set[int]] = []
        for i, yes in enumerate(mask):
            if yes and i and mask[i - 1]:
                found[-1].add(i)
            elif yes:
                found.append({i})
        return found

    a, b = spans(chosen), spans(gold)
    if not b:
        return float("nan")

    def hits(some: list[set[int]], others: list[set[int]]) -> float:
        return float(np.mean([any(len(s & o) / len(s | o) >= 0.5 for o in others) for s in some])) if some else 0.0

    p, r = hits(a, b), hits(b, a)
    return 2 * p * r / (p + r) if p + r else 0.0


@settings(max_examples=40)
@given(masks)
def test_iou_f1_spelled_out(pair: tuple[list[bool], list[bool]]) -> None:
    np.testing.assert_allclose(iou_f1(*pair), spelled_out(*pair), atol=1e-12)
    assert sum(b - a for a, b in runs(pair[0]).tolist()) == sum(pair[0])


def test_places_of_every_kind() -> None:
    assert inside([(0, 3), (3, 5)], [(2.0, 3.0)]).tolist() == [True, False], "touching is not sharing"
    boxes = [(0, 0, 2, 2), (0, 2, 2, 4)]
    assert inside(boxes, [(1.0, 1.0, 2.0, 2.0)]).tolist() == [True, False]
    assert inside([(0,), (1,), (2,)], [(2.0,), (0.0,)]).tolist() == [True, False, True]
    assert inside([(0, 3)], []).tolist() == [False]


def test_the_planted_truth_is_the_ceiling() -> None:
    truth = planted(CASE, "truth")
    for metric in (token_f1, iou_metric, auprc):
        got = metric(CASE, truth).values
        assert np.nanmin(got) == pytest.approx(1), "all marked words are the highest ranked"
    # every word of "dull" is marked, so nothing can be separated; token F1 is defined there
    assert np.isnan(auprc(CASE, truth).values[1])
    assert token_f1(CASE, truth).values[1] == 1


@pytest.mark.parametrize("values", [[1, 2, 3, 4, 5], [1, 1, 3, 4, 4], [2, 2, 2, 2, 2], [1, 2, 3, 3, 3]])
@pytest.mark.parametrize("marked", [1, 2, 3, 4])
def test_chance_of_average_precision_is_its_mean_over_all_orders(values: list[int], marked: int) -> None:
    gold = [True] * marked + [False] * (5 - marked)
    every = [average_precision(order, gold) for order in permutations(values)]
    assert expected_average_precision(values, gold) == pytest.approx(np.mean(every), abs=1e-12)


def test_chance_of_average_precision_without_ties_is_the_harmonic_closed_form() -> None:
    for n, m in ((8, 1), (8, 5), (40, 7), (200, 199)):
        harmonic = sum(1 / i for i in range(1, n + 1))
        want = (harmonic + (m - 1) / (n - 1) * (n - harmonic)) / n
        assert expected_average_precision(range(n), [True] * m + [False] * (n - m)) == pytest.approx(want)
        assert want > m / n, "the share of marked units is not what a random ranking scores"


def test_chance_of_average_precision_agrees_with_random_rankings() -> None:
    rng, gold = np.random.default_rng(0), np.arange(12) < 3
    drawn = [average_precision(rng.random(12), gold) for _ in range(4000)]
    error = np.std(drawn) / len(drawn) ** 0.5
    assert abs(np.mean(drawn) - expected_average_precision(range(12), gold)) < 4 * error


def test_auprc_carries_chance_for_exactly_the_examples_that_have_a_value() -> None:
    score = auprc(CASE, planted(CASE, "random"))
    for name in ("chance", "prevalence"):
        assert (np.isnan(score.curves[name][:, 0]) == np.isnan(score.values)).all()
    chance, share = score.curves["chance"][:, 0], score.curves["prevalence"][:, 0]
    assert np.nanmin(chance - share) > 0
    flat = auprc(CASE, Relevance.of("flat", CASE.ids, [np.zeros(len(u)) for u in CASE.units]))
    np.testing.assert_allclose(flat.values, flat.curves["chance"][:, 0])


def test_without_a_rationale_nothing_is_said() -> None:
    case = ToyCase([replace(e, rationale=None) for e in ToyCase().examples])
    for metric in (token_f1, iou_metric, auprc):
        assert np.isnan(metric(case, planted(case, "truth")).values).all()


def test_k_is_as_in_the_rationale_or_given() -> None:
    case = ToyCase(("truly a wonderful film",))
    truth = planted(case, "truth")
    assert token_f1(case, truth, k=1).values[0] == pytest.approx(2 / 3), "one of two found, nothing wrong"
    assert token_f1(case, truth).where == {"k": "as in the rationale"}
    with pytest.raises(InputError, match="k"):
        token_f1(case, truth, k=0)


def test_ties_are_broken_by_position() -> None:
    case = ToyCase(("wonderful a good film",))
    nearly = Relevance.of("planted", case.ids, [[0, 0.5, 0.5 + 1e-9, 0.5 - 1e-9, 0.5]])
    assert token_f1(case, nearly, k=1).values[0] == pytest.approx(2 / 3), "the first of equals"


def test_pointing_game_is_decided_by_the_strongest_unit() -> None:
    case = ToyCase(("wonderful a good film",))
    marked = Relevance.of("planted", case.ids, [[0, 0.9, 0.1, 0.2, 0.3]])
    beside = Relevance.of("planted", case.ids, [[0, 0.1, 0.9, 0.2, 0.3]])
    tied = Relevance.of("planted", case.ids, [[0, 0.9, 0.9, 0.2, 0.3]])
    scores = [pointing_game(case, relevance).values[0] for relevance in (marked, beside, tied)]
    assert scores == [1.0, 0.0, 0.5]
    unmarked = ToyCase([replace(e, rationale=None) for e in case.examples])
    assert np.isnan(pointing_game(unmarked, marked).values).all()
