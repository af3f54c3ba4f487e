"""Gradients, averaged this way and that: known answers, conservation, and Captum as an oracle, in four modalities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from captum.attr import IntegratedGradients, NoiseTunnel, Saliency
from captum.attr._core.gradient_shap import InputBaselineXGradient
from torch import Tensor, nn

from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.desk.questions import input_function
from regard.errors import InputError, UnknownName
from regard.explainers.gradient_shap import gradient_shap
from regard.explainers.input_x_gradient import input_x_gradient
from regard.explainers.integrated_gradients import integrated_gradients
from regard.explainers.saliency import saliency
from regard.explainers.smooth_grad import smooth_grad
from regard.measures.keyed_random import keyed_rng
from regard.models.open.wrap import wrap
from regard.protocols import Point
from regard.records import Example, Relevance
from regard.testing.toy import ToyCase

ADDITIVE: dict[str, Callable[..., Relevance]] = {
    "input_x_gradient": input_x_gradient,
    "integrated_gradients": integrated_gradients,
    "smooth_grad": smooth_grad,
    "gradient_shap": gradient_shap,
}


class Bent(nn.Module):
    """(batch, ...) numbers -> three logits, not linear."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.one, self.two = nn.Linear(size, 7), nn.Linear(7, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.two(torch.tanh(self.one(x.flatten(1))))


class Words(nn.Module):
    """Embedding, a bend, a mean over positions, logits."""

    def __init__(self, out: int = 3) -> None:
        super().__init__()
        self.embedding, self.mix, self.out = nn.Embedding(40, 6), nn.Linear(6, 6), nn.Linear(6, out)

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        x = torch.tanh(self.mix(self.embedding(ids)))
        real = torch.ones_like(ids) if mask is None else mask
        return self.out((x * real[..., None]).sum(1) / real.sum(1, keepdim=True))


def encode(text: str) -> list[int]:
    return [2 + sum(map(ord, word)) % 38 for word in text.split()]


TEXTS = ("a very long and winding road", "short one", "again a word")


def text_case(*, task: str = "classification", seed: int = 0) -> DeskCase:
    torch.manual_seed(0)
    module = Words(1 if task == "regression" else 3).eval()
    labels = ["a", "b", "c"] if task == "classification" else []
    model = wrap(module, encode, task=task, labels=labels, mask="mask", mask_id=1, device="cpu")
    return DeskCase(Desk(model, seed=seed), [Example(t, {"text": t}) for t in TEXTS])


def array_case(modality: Any) -> DeskCase:
    torch.manual_seed(1)
    rng = np.random.default_rng(0)
    shapes = {"image": (6, 6), "series": (10, 1), "tabular": (5,)}
    entry = {"image": "image", "series": "series", "tabular": "row"}[modality]
    given = [rng.normal(size=shapes[modality]).astype(np.float32) for _ in range(2)]
    module = Bent(int(np.prod(shapes[modality]))).eval()
    model = wrap(
        module, task="classification", modality=modality, labels=["a", "b", "c"], patch=2 if modality == "image" else 1,
        columns=list("vwxyz") if modality == "tabular" else (), class_tokens=0, device="cpu",
    )  # fmt: skip
    return DeskCase(Desk(model), [Example(str(i), {entry: x}) for i, x in enumerate(given)])


CASES: dict[str, Callable[[], DeskCase]] = {
    "text": text_case,
    "regression": lambda: text_case(task="regression"),
    "image": lambda: array_case("image"),
    "series": lambda: array_case("series"),
    "tabular": lambda: array_case("tabular"),
}


def per_unit(case: DeskCase, i: int, tensor: Tensor) -> np.ndarray:
    function = input_function(case, i)
    owner = function.owner.numpy().ravel()
    sums = np.bincount(owner[owner >= 0], tensor.detach().numpy().ravel()[owner >= 0], minlength=len(case.units[i]))
    return np.where(case.units[i].free, sums, 0.0)


@pytest.mark.parametrize("name", ADDITIVE)
def test_a_linear_model_is_explained_exactly(name: str) -> None:
    case = ToyCase()
    got = ADDITIVE[name](case)
    assert got.signed
    for i, row in enumerate(got):
        np.testing.assert_allclose(row, case.exact(i), atol=1e-9)


@pytest.mark.parametrize("name", [*ADDITIVE, "saliency"])
def test_only_the_unit_that_the_model_uses_has_relevance(name: str) -> None:
    class Second(nn.Module):
        def forward(self, row: Tensor) -> Tensor:
            return torch.stack([torch.tanh(row[:, 2]), 0 * row[:, 0]], 1)

    model = wrap(Second(), modality="tabular", labels=["a", "b"], columns=list("abcd"), class_tokens=0, device="cpu")
    case = DeskCase(Desk(model), [Example("x", {"row": np.array([0.5, -1.0, 0.8, 2.0])})])
    row = {**ADDITIVE, "saliency": saliency}[name](case)[0]
    assert row[2] != 0
    assert not np.delete(row, 2).any()


@pytest.mark.parametrize("kind", CASES)
def test_integrated_gradients_conserve_and_agree_with_captum(kind: str) -> None:
    case = CASES[kind]()
    for baseline in case.baselines[:2]:
        got = integrated_gradients(case, steps=24, baseline=baseline)
        np.testing.assert_allclose([row.sum() for row in got], got.extras["difference"], atol=0.01)
        for i in range(len(case.ids)):
            f = input_function(case, i)
            ours = float((f(f.x) - f(f.baseline(baseline))).detach())
            assert got.extras["difference"][i] == pytest.approx(ours, abs=1e-5)
            theirs = IntegratedGradients(f).attribute(
                f.x, f.baseline(baseline), n_steps=24, method="riemann_middle", internal_batch_size=8
            )
            np.testing.assert_allclose(got[i], per_unit(case, i, theirs), rtol=1e-4, atol=1e-5)
    default = integrated_gradients(case, steps=24)
    assert np.array_equal(default.values, integrated_gradients(case, steps=24, baseline=case.baselines[0]).values)


@pytest.mark.parametrize("kind", CASES)
def test_saliency_agrees_with_captum(kind: str) -> None:
    case = CASES[kind]()
    got = saliency(case)
    for i in range(len(case.ids)):
        f = input_function(case, i)
        slope = Saliency(f).attribute(f.x.requires_grad_(), abs=False)
        np.testing.assert_allclose(got[i] ** 2, per_unit(case, i, slope**2), rtol=1e-4, atol=1e-7)


@pytest.fixture
def noise_of() -> Callable[[DeskCase, int, list[int], float], list[Tensor]]:
    """What the desk adds to the input for given draws: the input of a module that only remembers."""

    def noisy(case: DeskCase, i: int, draws: list[int], noise: float) -> list[Tensor]:
        from regard.models.ask.gradients import _at, _room
        from regard.models.ask.input_function import contents, ends

        model: Any = case.desk.model
        item = case.desk.encoded(case.ids[i])
        end = ends(model, item, model.baselines[0])
        ground = _room(item, end.x), contents(item)
        return [_at(end, Point(noise=noise, draw=draw), ground) - end.x for draw in draws]

    return noisy


def test_smooth_grad_agrees_with_captum_on_the_same_noise(noise_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    case = text_case()
    got, sizes = smooth_grad(case, samples=6, noise=0.2), smooth_grad(case, samples=6, noise=0.2, of="saliency")
    assert (sizes.values >= 0).all()
    assert not sizes.signed
    draws = [int(d) for d in keyed_rng(0, "smooth_grad").integers(2**62, size=6)]
    for i in range(len(case.ids)):
        f = input_function(case, i)
        added = torch.stack(noise_of(case, i, draws, 0.2))
        assert added.std() > 0.05
        monkeypatch.setattr(torch, "normal", lambda mean, std, added=added: mean + added.reshape(std.shape))
        mean = NoiseTunnel(Saliency(f)).attribute(f.x, nt_samples=6, nt_type="smoothgrad", stdevs=1.0, abs=False)
        np.testing.assert_allclose(got[i], per_unit(case, i, mean * f.x), rtol=1e-4, atol=1e-5)
        monkeypatch.undo()


def test_gradient_shap_agrees_with_captum_on_the_same_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    from regard.models.ask.input_function import ends

    case = text_case()
    got = gradient_shap(case, samples=5)
    rng = keyed_rng(0, "gradient_shap")
    places, draws = rng.random(5), rng.integers(2**62, size=5)
    model: Any = case.desk.model
    for i in range(len(case.ids)):
        f, item = input_function(case, i), case.desk.encoded(case.ids[i])
        away = torch.stack([ends(model, item, "resample", int(d)).baseline for d in draws])
        assert (away[0] != away[1]).any()
        monkeypatch.setattr(np.random, "uniform", lambda low, high, n: places)
        theirs = InputBaselineXGradient(f).attribute(f.x.expand(5, -1, -1), baselines=away).mean(0, keepdim=True)
        monkeypatch.undo()
        np.testing.assert_allclose(got[i], per_unit(case, i, theirs), rtol=1e-4, atol=1e-5)
        with torch.no_grad():
            wanted = float(f(f.x) - f(away).mean())
        assert got.extras["difference"][i] == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize("kind", CASES)
def test_gradient_shap_conserves_in_expectation(kind: str) -> None:
    got = gradient_shap(CASES[kind](), samples=100)
    sums = np.array([row.sum() for row in got])
    room = 5 * got.extras["spread"] * np.sqrt(np.diff(got.offsets)) + 0.02
    assert (np.abs(sums - got.extras["difference"]) < room).all()
    np.testing.assert_allclose(np.abs(sums - got.extras["difference"]), got.extras["completeness_error"], atol=1e-9)


def test_draws_follow_the_seed_and_not_the_company() -> None:
    for method in (smooth_grad, gradient_shap):
        whole, other = method(text_case()), method(text_case(seed=1))
        assert not np.allclose(whole.values, other.values)
        case = text_case()
        alone = method(case.subset([1]))
        np.testing.assert_allclose(alone[0], whole[1], atol=1e-6)


def test_bad_parameters_are_told() -> None:
    case = text_case()
    with pytest.raises(InputError, match="samples"):
        smooth_grad(case, samples=0)
    with pytest.raises(InputError, match="noise"):
        gradient_shap(case, noise=-1.0)
    with pytest.raises(UnknownName, match="mask"):
        integrated_gradients(case, baseline="maks")
