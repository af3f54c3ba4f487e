"""The metrics along the curve of removal: the definitions spelled out, one unit at a time."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from regard.errors import InputError, Unsupported
from regard.metrics.aopc import aopc
from regard.metrics.completeness_error import completeness_error
from regard.metrics.comprehensiveness import comprehensiveness
from regard.metrics.decision_flip import decision_flip
from regard.metrics.deletion_area import deletion_area
from regard.metrics.infidelity import infidelity
from regard.metrics.insertion_area import insertion_area
from regard.metrics.log_odds import log_odds
from regard.metrics.monotonicity import monotonicity
from regard.records import Answers, Relevance
from regard.testing.metric_rules import planted
from regard.testing.toy import TEXTS, ToyCase, ToyModel

CASE = ToyCase(TEXTS[:-1], lean=-0.4)
BINS = 10


def value(i: int, left: set[int]) -> float:
    sign = 1 if CASE.targets[i] else -1
    return sign * float(sum(CASE.word_weights(i)[j] for j in left))


def probability(i: int, left: set[int]) -> float:
    return 1 / (1 + math.exp(-value(i, left)))


def ranked(i: int, row: np.ndarray) -> list[int]:
    return sorted(np.flatnonzero(CASE.units[i].free).tolist(), key=lambda j: (-row[j], j))


def kept_sets(i: int, row: np.ndarray, *, keep: bool) -> list[set[int]]:
    """What is left at 0, 10, ..., 100 %: without the top units, or the top units alone."""
    order = ranked(i, row)
    sets = []
    for step in range(BINS + 1):
        k = math.ceil(step / BINS * len(order) - 1e-9)
        top = set(order[:k])
        sets.append({0} | (top if keep else set(order) - top))
    return sets


@pytest.fixture(params=["truth", "random", "inverse"])
def relevance(request: pytest.FixtureRequest) -> Relevance:
    return planted(CASE, request.param)


def test_deletion_insertion_and_aopc(relevance: Relevance) -> None:
    deleted, inserted, over = (m(CASE, relevance) for m in (deletion_area, insertion_area, aopc))
    for i, row in enumerate(relevance):
        for got, keep in ((deleted, False), (inserted, True)):
            curve = [probability(i, left) for left in kept_sets(i, row, keep=keep)]
            np.testing.assert_allclose(got.curves["probability"][i], curve, atol=1e-12)
            want = sum((a + b) / 2 for a, b in pairwise(curve)) / BINS
            assert got.values[i] == pytest.approx(want)
        drops = [probability(i, kept_sets(i, row, keep=False)[0]) - p for p in deleted.curves["probability"][i]]
        assert over.values[i] == pytest.approx(sum(drops) / (BINS + 1)), (
            "the divisor counts the term of nothing removed"
        )
        np.testing.assert_allclose(over.curves["drop"][i], drops[1:], atol=1e-12)
    assert over.grid == tuple(k / BINS for k in range(1, BINS + 1))


def test_log_odds_is_the_change_of_the_objective(relevance: Relevance) -> None:
    got = log_odds(CASE, relevance, fractions=(0.2, 0.5))
    for i, row in enumerate(relevance):
        order = ranked(i, row)
        whole = {0, *order}
        want = [value(i, whole - set(order[: math.ceil(f * len(order) - 1e-9)])) - value(i, whole) for f in (0.2, 0.5)]
        np.testing.assert_allclose(got.curves["change"][i], want, atol=1e-12)
        assert got.values[i] == pytest.approx(np.mean(want))


def test_decision_flip_is_the_first_step_with_another_class(relevance: Relevance) -> None:
    got = decision_flip(CASE, relevance)
    for i, row in enumerate(relevance):
        n = len(ranked(i, row))
        want, flipped = 1.0, 0.0
        for left in kept_sets(i, row, keep=False):
            if value(i, left) < 0:
                want, flipped = 1 - (len(left) - 1) / n, 1.0
                break
        assert got.values[i] == pytest.approx(want)
        assert got.curves["flipped"][i, 0] == flipped


def test_decision_flip_needs_classes() -> None:
    class Number(ToyModel):
        def forward(self, *args: Any) -> Answers:
            return replace(super().forward(*args), distribution=None)

    with pytest.raises(Unsupported, match="classes"):
        decision_flip(ToyCase(model=Number()), planted(ToyCase(), "truth"))


def test_monotonicity_is_the_rank_of_the_falls(relevance: Relevance) -> None:
    got = monotonicity(CASE, relevance)
    for i, row in enumerate(relevance):
        sets = kept_sets(i, row, keep=False)
        falls = []
        for before, after in pairwise(sets):
            if len(after) < len(before):
                falls.append((value(i, before) - value(i, after)) / (len(before) - len(after)))
        if len(falls) < 2:
            assert np.isnan(got.values[i])
        else:
            want = spearmanr(-np.arange(len(falls)), np.round(falls, 9)).statistic
            np.testing.assert_allclose(got.values[i], want, atol=1e-9)


def test_infidelity_is_zero_for_the_truth_and_blind_to_scale() -> None:
    truth = planted(CASE, "truth")
    assert np.nanmax(infidelity(CASE, truth, scale="none").values) < 1e-20
    chance = planted(CASE, "random")
    louder = Relevance.of("planted", CASE.ids, [7 * row for row in chance])
    np.testing.assert_allclose(infidelity(CASE, chance).values, infidelity(CASE, louder).values, atol=1e-12)
    assert not np.allclose(infidelity(CASE, chance, scale="none").values, infidelity(CASE, louder, scale="none").values)


def test_infidelity_by_the_formula() -> None:
    chance = planted(CASE, "random")
    got = infidelity(CASE, chance, draws=6, scale="none")
    for i, units in enumerate(CASE.units):
        n = int(units.free.sum())
        rng = CASE.rng(i, "infidelity", 6)
        sizes = rng.integers(1, n + 1, size=(6, 1))[:, 0]
        places = np.argsort(np.argsort(rng.random((6, n)), axis=-1), axis=-1)
        errors = []
        for size, place in zip(sizes, places, strict=True):
            gone = {j + 1 for j in range(n) if place[j] < size}
            assert len(gone) == size
            effect = value(i, set(range(n + 1))) - value(i, set(range(n + 1)) - gone)
            errors.append((sum(chance[i][j] for j in gone) - effect) ** 2)
        assert got.values[i] == pytest.approx(np.mean(errors))


def test_an_opposite_relevance_explains_nothing() -> None:
    """The scale is fitted, the sign is not."""
    against = Relevance.of("planted", CASE.ids, [-CASE.exact(i) for i in range(len(CASE.ids))], signed=True)
    np.testing.assert_allclose(infidelity(CASE, against).values, 1)


def test_completeness() -> None:
    truth = planted(CASE, "truth")
    assert np.nanmax(completeness_error(CASE, truth).values) < 1e-12
    double = Relevance.of("planted", CASE.ids, [2 * row for row in truth], signed=True)
    want = [abs(float(row.sum())) for row in truth]
    np.testing.assert_allclose(completeness_error(CASE, double).values, want)
    own = Relevance.of("planted", CASE.ids, list(truth), signed=True, extras={"difference": [9.0] * len(CASE.ids)})
    got = completeness_error(CASE, own)
    np.testing.assert_allclose(got.values, [abs(9 - float(row.sum())) for row in truth])
    assert (got.curves["own_baseline"] == 1).all()


def test_curves_share_their_forwards() -> None:
    """Ten steps of eight words are eight different questions, whoever asks (the toy counts, the desk remembers)."""
    case = ToyCase((TEXTS[0],))
    deletion_area(case, planted(case, "truth"))
    assert case.calls["removed"] == 8, "one, two, ..., eight words removed; nothing removed is the base answer"


@pytest.mark.parametrize("metric", [aopc, deletion_area, insertion_area, decision_flip, monotonicity])
def test_one_bin_is_no_curve(metric: object) -> None:
    with pytest.raises(InputError, match="bins"):
        metric(CASE, planted(CASE, "truth"), bins=1)  # type: ignore[operator]


def test_comprehensiveness_is_aopc_with_other_bins_and_divisor() -> None:
    truth = planted(CASE, "truth")
    grid = tuple(k / BINS for k in range(1, BINS + 1))
    np.testing.assert_allclose(
        comprehensiveness(CASE, truth, fractions=grid).values * BINS / (BINS + 1), aopc(CASE, truth).values
    )
