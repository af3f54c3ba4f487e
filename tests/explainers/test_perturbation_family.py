"""Removals: known answers, conservation, Captum on the same masks, and what every text model offers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest
import torch
from captum._utils.models.linear_model import SkLearnLinearRegression, SkLearnRidge
from captum.attr import LimeBase, Occlusion, ShapleyValues
from test_gradient_family import CASES, TEXTS, text_case
from torch import Tensor, nn

from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.desk.questions import input_function
from regard.errors import InputError
from regard.explainers.kernel_shap import coalitions, kernel_shap
from regard.explainers.leave_one_out import leave_one_out
from regard.explainers.lime import drawn, lime, nearness
from regard.explainers.occlusion import occlusion, windows
from regard.models.open.wrap import wrap
from regard.records import Example, Relevance
from regard.testing.toy import ToyCase

METHODS: dict[str, Callable[..., Relevance]] = {
    "leave_one_out": leave_one_out, "occlusion": occlusion, "lime": lime, "kernel_shap": kernel_shap,
}  # fmt: skip
EXACT: dict[str, Callable[..., Relevance]] = {
    "leave_one_out": leave_one_out,
    "occlusion of one": lambda case: occlusion(case, window=1),
    "lime without penalty": lambda case: lime(case, ridge=0.0),
    "kernel_shap": kernel_shap,
    "kernel_shap, sampled": lambda case: kernel_shap(case, samples=40),
}


class Second(nn.Module):
    def forward(self, row: Tensor) -> Tensor:
        return torch.stack([torch.tanh(row[:, 2]), 0 * row[:, 0]], 1)


@pytest.mark.parametrize("name", EXACT)
def test_a_sum_over_units_is_explained_exactly(name: str) -> None:
    case = ToyCase()
    got = EXACT[name](case)
    for i, row in enumerate(got):
        np.testing.assert_allclose(row, case.exact(i), atol=1e-8)


@pytest.mark.parametrize("name", METHODS)
def test_only_the_unit_that_the_model_uses_has_relevance(name: str) -> None:
    model = wrap(Second(), modality="tabular", labels=["a", "b"], columns=list("abcdef"), class_tokens=0, device="cpu")
    case = DeskCase(Desk(model), [Example("x", {"row": np.array([0.5, -1.0, 0.8, 2.0, 1.0, -2.0])})])
    row = METHODS[name](case, **({"window": 1} if name == "occlusion" else {}))[0]
    assert row[2] > 0.1
    assert np.abs(np.delete(row, 2)).max() < (0.25 * row[2] if name == "lime" else 1e-6)


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("samples", [4, 20, 2**9])
def test_shapley_values_sum_to_what_there_is_to_share(kind: str, samples: int) -> None:
    case = CASES[kind]()
    for operator in case.operators:
        got = kernel_shap(case, samples=samples, operator=operator)
        base = case.base().value
        empty = case.removed([units.free[None] for units in case.units], operator).value
        np.testing.assert_allclose([row.sum() for row in got], base - empty, atol=1e-9)
        assert got.extras["completeness_error"].max() < 1e-9


def test_shapley_values_are_those_of_the_definition_and_of_captum() -> None:
    case = text_case()
    got = kernel_shap(case, operator="mask")
    assert got.extras["exact"].tolist() == [1, 1, 1]
    sampled = kernel_shap(case, operator="mask", samples=30)
    for i in range(len(TEXTS)):
        n = len(case.units[i])
        subsets = (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(bool)
        part = case.subset([i])
        value = dict(zip(map(bytes, ~subsets), part.removed([subsets], "mask").value, strict=True))
        truth = np.zeros(n)
        orders = list(permutations(range(n)))
        for order in orders:
            there = np.zeros(n, bool)
            for unit in order:
                before = value[bytes(there)]
                there[unit] = True
                truth[unit] += (value[bytes(there)] - before) / len(orders)
        np.testing.assert_allclose(got[i], truth, atol=1e-6)
        if n > 5:
            assert sampled.extras["exact"][i] == 0
            assert np.corrcoef(sampled[i], truth)[0, 1] > 0.95
        f = input_function(case, i)
        theirs = ShapleyValues(f).attribute(f.x, baselines=f.baseline("mask"), feature_mask=f.owner)
        np.testing.assert_allclose(got[i], theirs[0, :, 0].detach().numpy(), atol=1e-5)


def test_sampled_shapley_values_are_those_of_captum_on_the_same_subsets() -> None:
    """Captum imposes the two ends by a large weight; the rest of the regression is the same."""
    case = text_case().subset([0])
    got = kernel_shap(case, operator="mask", samples=20)
    n = len(case.units[0])
    there, weight = coalitions(n, 20, case.rng(0, "kernel_shap"))
    assert len(there) <= 20
    rows = np.concatenate([np.zeros((1, n)), np.ones((1, n)), there])
    theirs = _captum_fit(case, rows, np.concatenate([[1e6, 1e6], weight]), SkLearnLinearRegression())
    np.testing.assert_allclose(got[0], theirs, atol=1e-4)


def test_lime_is_that_of_captum_on_the_same_samples() -> None:
    case = text_case().subset([0])
    for ridge in (0.1, 1.0):
        got = lime(case, samples=50, ridge=ridge, operator="mask")
        drop = drawn(case.rng(0, "lime"), case.units[0].free, 50)
        rows = np.concatenate([np.ones((1, drop.shape[1])), ~drop])
        theirs = _captum_fit(case, rows, nearness(rows, 0.25), SkLearnRidge(alpha=ridge))
        np.testing.assert_allclose(got[0], theirs, rtol=1e-3, atol=1e-4)
        assert 0 < got.extras["fit"][0] <= 1


def _captum_fit(case: DeskCase, rows: np.ndarray, weight: np.ndarray, model: Any) -> np.ndarray:
    """Captum's surrogate model, fitted to given samples with given weights."""
    f = input_function(case, 0)
    away = f.baseline("mask")

    def perturb(x: Tensor, **kwargs: Any) -> Any:
        for row in rows:
            yield torch.tensor(row[None], dtype=torch.float32)

    weights = iter(weight)
    base = LimeBase(
        f, model, lambda *args, **kwargs: torch.tensor(float(next(weights))), perturb, True,
        from_interp_rep_transform=lambda row, x, **kwargs: torch.where(row[..., None] > 0, x, away),
        to_interp_rep_transform=None,
    )  # fmt: skip
    return np.asarray(base.attribute(f.x, n_samples=len(rows))[0].detach().numpy(), np.float64)


@pytest.mark.parametrize(("window", "stride"), [(1, 1), (2, 1), (3, 1), (2, 2)])
def test_occlusion_is_that_of_captum(window: int, stride: int) -> None:
    case = text_case().subset([0])
    f = input_function(case, 0)
    width = f.x.shape[-1]
    theirs = Occlusion(f).attribute(
        f.x, sliding_window_shapes=(window, width), strides=(stride, width), baselines=f.baseline("mask")
    )
    got = occlusion(case, window=window, stride=stride, operator="mask")
    np.testing.assert_allclose(got[0], theirs[0, :, 0].detach().numpy(), atol=1e-5)


def test_windows_over_words_and_patches() -> None:
    units = CASES["image"]().units[0]
    square = windows(units, 2, 1, words=False)
    assert units.shape == (3, 3)
    assert square.shape == (4, 9)
    assert np.flatnonzero(square[0]).tolist() == [0, 1, 3, 4]
    flat = windows(text_case().units[0], 4, 3, words=False)
    assert [np.flatnonzero(w).tolist() for w in flat] == [[0, 1, 2, 3], [2, 3, 4, 5]], "the last one is moved back"
    words = windows(ToyCase(("a b c",)).units[0], 2, 1, words=True)
    assert [np.flatnonzero(w).tolist() for w in words] == [[1, 2], [2, 3]]
    pieces = ToyCase(("a b c d",)).units[0]
    object.__setattr__(pieces, "groups", np.array([-1, 0, 0, 1, 2]))
    assert [np.flatnonzero(w).tolist() for w in windows(pieces, 1, 1, words=True)] == [[1, 2], [3], [4]]


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("kind", CASES)
def test_every_modality_and_operator(kind: str, name: str) -> None:
    case = CASES[kind]()
    for operator in case.operators:
        got = METHODS[name](case, operator=operator)
        assert np.isfinite(got.values).all()
        assert np.abs(got.values).max() > 1e-4


def test_text_can_be_deleted_masked_and_hidden() -> None:
    case = text_case()
    assert {"mask", "delete", "attention_mask"} <= set(case.operators)
    found = [leave_one_out(case, operator=o).values for o in ("mask", "delete", "attention_mask")]
    assert not np.allclose(found[0], found[1])
    # a bag of words without positions cannot tell a deleted word from a hidden one
    np.testing.assert_allclose(found[1], found[2], atol=1e-5)


def test_leave_one_out_forwards_are_shared_with_kernel_shap() -> None:
    case = text_case().subset([0])
    leave_one_out(case, operator="mask")
    before = sum(c.forwards for c in case.desk.costs())
    kernel_shap(case, operator="mask", samples=30)
    spent = sum(c.forwards for c in case.desk.costs()) - before
    assert spent <= 30 + 1 - len(case.units[0])


def test_subsets_are_drawn_as_the_kernel_says() -> None:
    rng = np.random.default_rng(0)
    for n, samples in ((2, 2), (3, 100), (9, 60), (40, 200), (600, 300)):
        there, weight = coalitions(n, samples, rng)
        sizes = there.sum(-1)
        assert len(there) <= samples
        assert len(np.unique(there, axis=0)) == len(there)
        assert sizes.min() >= 1
        assert sizes.max() <= n - 1
        assert weight.sum() == pytest.approx(1)
        if n < 100:
            np.testing.assert_allclose(sorted(sizes), sorted(n - sizes), err_msg="each with its complement")
    assert coalitions(1, 10, rng)[0].shape == (0, 1)
    assert coalitions(0, 10, rng)[0].shape == (0, 0)


def test_bad_parameters_are_told() -> None:
    case = ToyCase()
    for call in (
        lambda: lime(case, samples=0),
        lambda: kernel_shap(case, samples=1),
        lambda: occlusion(case, window=0),
    ):
        with pytest.raises(InputError):
            call()
