"""Gradients and removals on a linear bag of words, where the truth is the weight of the word."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from regard.errors import InputError
from regard.explainers.input_x_gradient import input_x_gradient
from regard.explainers.integrated_gradients import integrated_gradients
from regard.explainers.leave_one_out import leave_one_out
from regard.explainers.random import random
from regard.testing.toy import TEXTS, ToyCase

EXACT = {
    "input_x_gradient": input_x_gradient,
    "integrated_gradients": integrated_gradients,
    "leave_one_out": leave_one_out,
}


@pytest.mark.parametrize("name", EXACT)
def test_a_linear_model_is_explained_exactly(name: str) -> None:
    case = ToyCase()
    got = EXACT[name](case)
    for i in range(len(TEXTS)):
        np.testing.assert_allclose(got[i], case.exact(i), atol=1e-12)
    assert got.signed


def test_leave_one_out_follows_the_operator() -> None:
    case = ToyCase()
    masked = leave_one_out(case, operator="mask")
    sign = 1 if case.targets[0] == 1 else -1
    free = case.units[0].free
    np.testing.assert_allclose(masked[0][free], case.exact(0)[free] - sign * 0.03)
    with pytest.raises(InputError, match="blur"):
        leave_one_out(case, operator="blur")


def test_leave_one_out_asks_once_per_free_unit() -> None:
    case = ToyCase()
    leave_one_out(case)
    assert case.calls["removed"] == sum(int(units.free.sum()) for units in case.units)


def test_integrated_gradients_of_a_bent_model() -> None:
    case = ToyCase(link="tanh")
    got = integrated_gradients(case, steps=200)
    for i in range(len(TEXTS)):
        w = case.word_weights(i)
        exact = (1 if case.targets[i] else -1) * w * np.tanh(w.sum()) / w.sum()
        np.testing.assert_allclose(got[i], np.where(case.units[i].free, exact, 0), atol=1e-4)
    slope = input_x_gradient(case)
    assert np.abs(slope[0] - got[0]).max() > 0.05, "the slope at the input is not the whole story"


def test_completeness_is_reported_and_falls_with_the_steps() -> None:
    case = ToyCase(link="tanh")
    errors = [integrated_gradients(case, steps=s).extras["completeness_error"] for s in (1, 4, 16, 64)]
    assert all(np.all(a >= b) for a, b in itertools.pairwise(errors))
    assert errors[-1].max() < 1e-3
    got = integrated_gradients(case, steps=64)
    total = np.array([row.sum() for row in got]) + got.extras["special_sum"]
    np.testing.assert_allclose(total, got.extras["difference"], atol=1e-3)
    np.testing.assert_allclose(got.extras["difference"], case.base().value)
    with pytest.raises(InputError, match="steps"):
        integrated_gradients(case, steps=0)


def test_random_is_uniform_and_every_draw_another() -> None:
    case = ToyCase((" ".join(["word"] * 2000),))
    values = random(case)[0][1:]
    assert abs(values.mean() - 0.5) < 4 * (1 / 12 / 2000) ** 0.5
    assert abs(np.corrcoef(values, random(case, draw=1)[0][1:])[0, 1]) < 0.1
    assert not np.array_equal(random(ToyCase(seed=1)).values, random(ToyCase()).values)
