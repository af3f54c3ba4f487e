"""Metrics that run the explainer again: on noisy inputs, on randomised weights, for another class."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from regard.desk.changes import Noisy, Randomized
from regard.errors import InputError, Unsupported
from regard.explainers.leave_one_out import leave_one_out
from regard.explainers.random import random
from regard.metrics.label_randomisation import label_randomisation
from regard.metrics.local_lipschitz import local_lipschitz
from regard.metrics.max_sensitivity import max_sensitivity
from regard.metrics.weight_randomisation import weight_randomisation
from regard.records import Relevance
from regard.testing.toy import TEXTS, ToyCase

CASE = ToyCase(TEXTS[:-1])


def test_max_sensitivity_by_the_formula() -> None:
    own = leave_one_out(CASE)
    got = max_sensitivity(CASE, own, noise=0.1, draws=4)
    for i, row in enumerate(own):
        moved = [leave_one_out(CASE.variant(Noisy(0.1, draw)))[i] for draw in range(4)]
        want = max(np.linalg.norm(m - row) for m in moved) / np.linalg.norm(row)
        assert got.values[i] == pytest.approx(want)


def test_a_linear_model_passes_relative_noise_on_as_it_is() -> None:
    """Known answer: the relevance of a linear model is its inputs, so both move by the same share."""
    np.testing.assert_allclose(local_lipschitz(CASE, leave_one_out(CASE)).values, 1, atol=1e-9)


def test_more_noise_moves_more() -> None:
    own = leave_one_out(CASE)
    small, large = (np.nanmean(max_sensitivity(CASE, own, noise=n).values) for n in (0.01, 0.3))
    assert small < large


@pytest.mark.parametrize("metric", [max_sensitivity, local_lipschitz])
def test_what_does_not_look_is_perfectly_stable(metric: object) -> None:
    got = metric(CASE, random(CASE))  # type: ignore[operator]
    np.testing.assert_array_equal(got.values, 0)


def test_zero_relevance_is_undefined() -> None:
    class Silent(ToyCase):
        def relevance(self, method: object) -> Relevance:
            return Relevance.of("planted", self.ids, [np.zeros(len(u)) for u in self.units])

    case = Silent()
    for metric in (max_sensitivity, local_lipschitz, weight_randomisation, label_randomisation):
        assert np.isnan(metric(case, case.relevance("planted")).values).all()


def test_weight_randomisation_by_the_formula() -> None:
    own = leave_one_out(CASE)
    got = weight_randomisation(CASE, own, depths=(0.5, 1.0))
    other = leave_one_out(CASE.variant(Randomized(1.0, 0)))
    for i, units in enumerate(CASE.units):
        if units.free.sum() < 2 or np.ptp(np.abs(other[i][units.free])) == 0 or np.ptp(np.abs(own[i][units.free])) == 0:
            assert np.isnan(got.values[i])
        else:
            want = spearmanr(np.abs(own[i][units.free]).round(9), np.abs(other[i][units.free]).round(9)).statistic
            np.testing.assert_allclose(got.values[i], want, atol=1e-9)
    assert got.curves["similarity"].shape == (len(CASE.ids), 2)
    assert got.grid == (0.5, 1.0)


def test_what_does_not_look_at_the_model_fails_the_checks() -> None:
    blind, seeing = random(CASE), leave_one_out(CASE)
    for metric in (weight_randomisation, label_randomisation):
        assert np.nanmin(metric(CASE, blind).values) == pytest.approx(1)
        assert np.nanmean(metric(CASE, seeing).values) < 0.6


def test_another_class_turns_a_signed_relevance_round() -> None:
    got = label_randomisation(CASE, leave_one_out(CASE), by="head")
    assert np.nanmax(got.values) == pytest.approx(-1), "with two classes the evidence for one is against the other"
    assert got.where == {"by": "another class"}


def test_where_training_is_impossible_the_class_is_swapped_and_it_is_said() -> None:
    assert label_randomisation(CASE, leave_one_out(CASE)).where == {"by": "another class"}
    with pytest.raises(Unsupported, match="a twin of toy with labels=shuffled"):
        label_randomisation(CASE, leave_one_out(CASE), by="labels")


def test_a_share_is_the_same_examples_for_every_method() -> None:
    case = ToyCase(tuple(f"a truly wonderful film number {i}" for i in range(40)))
    one, other = (max_sensitivity(case, method(case), share=0.25) for method in (random, leave_one_out))
    assert one.ids == other.ids
    assert 3 <= len(one.ids) <= 20
    whole = max_sensitivity(case, leave_one_out(case))
    picked = [whole.values[whole.ids.index(name)] for name in other.ids]
    np.testing.assert_allclose(other.values, picked, atol=1e-12)
    for wrong in (0.0, 1.5):
        with pytest.raises(InputError, match="share"):
            max_sensitivity(case, random(case), share=wrong)


def test_values_without_a_method_cannot_be_rerun() -> None:
    given = Relevance.of("from a file", CASE.ids, list(random(CASE)))
    for metric in (max_sensitivity, local_lipschitz, weight_randomisation, label_randomisation):
        with pytest.raises(Unsupported, match="can rerun"):
            metric(CASE, given)
