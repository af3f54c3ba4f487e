"""Experiments on models wired by hand: rows of steps, maps between examples, proofs of exclusivity."""

from __future__ import annotations

import numpy as np
import pytest

from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.experiments.exclusive import exclusive
from regard.experiments.map_shape import map_shape
from regard.explainers.attention import attention
from regard.models.adapter import TorchModel
from regard.models.open.load import load
from regard.planted.wiring.build import plan_of


def case_of(name: str, n: int = 24) -> DeskCase:
    model = load(name, device="cpu")
    assert isinstance(model, TorchModel)
    plan = plan_of(model)
    assert plan is not None
    return DeskCase(Desk(model), list(plan.draw(n, 5)))


@pytest.mark.parametrize("name", ["planted:reverser", "planted:reverser_rows"])
def test_attention_of_a_step_lies_on_the_digit_that_is_due(name: str) -> None:
    case = case_of(name)
    for example, units, row in zip(case.examples, case.units, attention(case), strict=True):
        ((start, _),) = example.rationale or ()
        due = [i for i, (a, _) in enumerate(units.places) if a == start and units.free[i]]
        assert row[due].sum() > 0.999


def test_maps_that_no_unit_moves_are_compared_between_examples() -> None:
    values = {score.metric: score.values for score in map_shape(case_of("planted:reverser_rows"))}
    np.testing.assert_allclose(values["locked"], 0, atol=1e-6)
    assert np.nanmean(values["varies"]) > 0.5


def test_maps_that_depend_on_units_need_no_comparison() -> None:
    assert "varies" not in {score.metric for score in map_shape(case_of("planted:classes_point", 8))}


def test_maps_of_places_alone_are_the_same_for_all_examples_of_a_length() -> None:
    from regard.datasets.builtin.planted import planted

    case = DeskCase(Desk(load("planted:constant", device="cpu")), list(planted(n=6, length=12)))
    values = {score.metric: score.values for score in map_shape(case)}
    np.testing.assert_allclose(values["varies"], 0, atol=1e-6)


@pytest.mark.parametrize(("name", "proved"), [("planted:classes_point", 1.0), ("planted:pair_point", 0.0)])
def test_no_other_attention_does_and_linear_logits_prove_it(name: str, proved: float) -> None:
    values = {score.metric: score.values for score in exclusive(case_of(name, 6))}
    assert not values["displaceable"].any(), "by construction no other word says anything"
    assert (values["displaceable_exact"] == proved).all()
