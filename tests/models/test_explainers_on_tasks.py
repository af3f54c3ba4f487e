"""Gradient and removal explainers on every task: classes, labels, numbers, tokens, sequences, pictures, series."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_adapters import MODELS

from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.explainers.captum import captum
from regard.explainers.gradient_shap import gradient_shap
from regard.explainers.input_x_gradient import input_x_gradient
from regard.explainers.integrated_gradients import integrated_gradients
from regard.explainers.kernel_shap import kernel_shap
from regard.explainers.leave_one_out import leave_one_out
from regard.explainers.lime import lime
from regard.explainers.lrp import lrp
from regard.explainers.occlusion import occlusion
from regard.explainers.saliency import saliency
from regard.explainers.smooth_grad import smooth_grad


@pytest.fixture(scope="module", params=list(MODELS))
def case(request: pytest.FixtureRequest) -> DeskCase:
    make, examples = MODELS[request.param]
    return DeskCase(Desk(make()), examples()[:2])


def test_every_method_says_something_about_every_task(case: Any) -> None:
    small: dict[Any, dict[str, int]] = {
        saliency: {}, input_x_gradient: {}, smooth_grad: {"samples": 2}, gradient_shap: {"samples": 2},
        leave_one_out: {}, occlusion: {}, lrp: {}, lime: {"samples": 12}, kernel_shap: {"samples": 12}, captum: {},
    }  # fmt: skip
    for method, params in small.items():
        got = method(case, **params)
        assert np.isfinite(got.values).all(), method.__name__
        assert got.values.any(), method.__name__
        for row, units in zip(got, case.units, strict=True):
            assert not row[units.special].any()


def test_conservation_on_every_task(case: Any) -> None:
    shap = kernel_shap(case, samples=12)
    assert shap.extras["completeness_error"].max() < 1e-8
    path = integrated_gradients(case, steps=64)
    if case.baselines[0] != "zero":  # a norm without a centre makes the objective jump at zero
        np.testing.assert_allclose([row.sum() for row in path], path.extras["difference"], rtol=0.05, atol=0.02)


@pytest.mark.parametrize("rule", ["cp", "attnlrp"])
def test_relevance_and_what_is_absorbed_sum_to_the_objective_on_every_task(case: Any, rule: Any) -> None:
    got = lrp(case, rule=rule)
    rest = [values for name, values in got.extras.items() if name != "value"]
    np.testing.assert_allclose(
        np.array([row.sum() for row in got]) + sum(rest), case.base().value, rtol=1e-3, atol=1e-3
    )
    np.testing.assert_allclose(got.extras["value"], case.base().value, rtol=1e-4, atol=1e-4)


def test_captum_agrees_on_every_task(case: Any) -> None:
    ours, theirs = input_x_gradient(case), captum(case, attribution="InputXGradient")
    np.testing.assert_allclose(ours.values, theirs.values, rtol=1e-3, atol=1e-4)
