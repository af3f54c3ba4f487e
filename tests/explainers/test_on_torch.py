"""The explainers on a real torch module behind the real desk, against Captum and against loops written out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from captum.attr import InputXGradient, IntegratedGradients
from torch import Tensor, nn

from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.explainers.attention import attention
from regard.explainers.input_x_gradient import input_x_gradient
from regard.explainers.integrated_gradients import integrated_gradients
from regard.explainers.leave_one_out import leave_one_out
from regard.explainers.lrp import lrp
from regard.explainers.random import random
from regard.explainers.rollout import rollout
from regard.metrics.agreement import agreement
from regard.metrics.comprehensiveness import comprehensiveness
from regard.metrics.sufficiency import sufficiency
from regard.models.open.wrap import wrap
from regard.records import Example, Relevance
from regard.testing.battery import check_explainer

TEXTS = ("a very long and winding road", "short one", "a b c d e f g h i", "again a very short one", "word")
EXPLAINERS: dict[str, Callable[..., Relevance]] = {
    "attention": attention,
    "rollout": rollout,
    "input_x_gradient": input_x_gradient,
    "integrated_gradients": integrated_gradients,
    "leave_one_out": leave_one_out,
    "lrp": lrp,
    "random": random,
}


class Tiny(nn.Module):
    """Embedding, two softmax self-attentions with a residual, mean over real positions, three classes."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(60, 8)
        self.mixers = nn.ModuleList([nn.Linear(8, 24) for _ in range(2)])
        self.out = nn.Linear(8, 3)

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.logits(self.embedding(ids), mask)

    def logits(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        real = torch.ones(x.shape[:2], dtype=torch.bool) if mask is None else mask
        for mixer in self.mixers:
            x = x + self.weights(x, mixer, real) @ mixer(x)[..., 16:]
        x = torch.where(real[..., None], x, 0.0).sum(1) / real.sum(1, keepdim=True)
        return self.out(torch.tanh(x))

    @staticmethod
    def weights(x: Tensor, mixer: nn.Module, real: Tensor) -> Tensor:
        q, k, _ = mixer(x).chunk(3, -1)
        return (q @ k.mT / 8**0.5).masked_fill(~real[:, None], -torch.inf).softmax(-1)


def encode(text: str) -> list[int]:
    return [3 + sum(map(ord, word)) % 57 for word in text.split()]


@pytest.fixture(scope="module")
def module() -> Tiny:
    torch.manual_seed(0)
    made = Tiny().eval()
    with torch.no_grad():
        for p in made.parameters():
            p.mul_(1.5)
    return made


@pytest.fixture(scope="module")
def cases(module: Tiny) -> Callable[[Sequence[int], int], DeskCase]:
    model = wrap(module, encode, labels=["a", "b", "c"], mask="mask", mask_id=1, pooling="mean", device="cpu")

    def make(positions: Sequence[int], seed: int) -> DeskCase:
        return DeskCase(Desk(model, seed=seed), [Example(TEXTS[i], {"text": TEXTS[i]}) for i in positions])

    return make


def objective(module: Tiny, target: int) -> Callable[[Tensor], Tensor]:
    def log_odds(x: Tensor) -> Tensor:
        z = module.logits(x)
        rest = [i for i in range(3) if i != target]
        return z[:, target] - z[:, rest].logsumexp(1)

    return log_odds


@pytest.mark.parametrize("name", EXPLAINERS)
def test_every_explainer_keeps_the_rules_on_a_real_model(name: str, cases: Any) -> None:
    check_explainer(EXPLAINERS[name], cases={"a torch module": cases}, size=len(TEXTS))


def test_gradients_agree_with_captum(module: Tiny, cases: Any) -> None:
    case = cases(range(len(TEXTS)), 0)
    slope, path = input_x_gradient(case), integrated_gradients(case, steps=12, baseline="zero")
    for i, text in enumerate(TEXTS):
        x = module.embedding(torch.tensor([encode(text)])).detach().requires_grad_()
        f = objective(module, int(str(case.targets[i])))
        theirs = InputXGradient(f).attribute(x).sum(-1)[0].detach().numpy()
        np.testing.assert_allclose(slope[i], theirs, rtol=1e-4, atol=1e-5)
        theirs = IntegratedGradients(f).attribute(x, n_steps=12, method="riemann_middle").sum(-1)[0].detach().numpy()
        np.testing.assert_allclose(path[i], theirs, rtol=1e-4, atol=1e-5)
        gap = float((f(x) - f(torch.zeros_like(x))).detach()) - float(theirs.sum())
        assert path.extras["completeness_error"][i] == pytest.approx(abs(gap), abs=1e-4)


def test_leave_one_out_is_the_loop_written_out(module: Tiny, cases: Any) -> None:
    case = cases(range(4), 0)
    deleted, masked = leave_one_out(case, operator="delete"), leave_one_out(case, operator="mask")
    for i, text in enumerate(TEXTS[:4]):
        ids = encode(text)
        f = objective(module, int(str(case.targets[i])))
        with torch.no_grad():
            whole = f(module.embedding(torch.tensor([ids])))
            for j in range(len(ids)):
                left = [*ids[:j], *ids[j + 1 :]]
                assert deleted[i][j] == pytest.approx(
                    float(whole - f(module.embedding(torch.tensor([left])))), abs=1e-5
                )
                hidden = [*ids[:j], 1, *ids[j + 1 :]]
                assert masked[i][j] == pytest.approx(
                    float(whole - f(module.embedding(torch.tensor([hidden])))), abs=1e-5
                )


def test_attention_and_rollout_are_those_of_the_module(module: Tiny, cases: Any) -> None:
    case = cases(range(len(TEXTS)), 0)
    last, rolled = attention(case), rollout(case)
    for i, text in enumerate(TEXTS):
        x = module.embedding(torch.tensor([encode(text)]))
        real = torch.ones(x.shape[:2], dtype=torch.bool)
        maps = []
        with torch.no_grad():
            for mixer in module.mixers:
                w = module.weights(x, mixer, real)
                maps.append(w[0].double().numpy())
                x = x + w @ mixer(x)[..., 16:]
        np.testing.assert_allclose(last[i], maps[1].mean(0), atol=1e-5)
        eye = np.eye(len(maps[0]))
        np.testing.assert_allclose(rolled[i], ((maps[1] + eye) / 2 @ (maps[0] + eye) / 2).mean(0), atol=1e-5)


def test_metrics_on_a_real_model(cases: Any) -> None:
    case = cases(range(len(TEXTS)), 0)
    exact, chance = case.relevance("leave_one_out"), case.relevance("random")
    for operator in case.operators[:2]:
        for judge, sign in ((comprehensiveness, 1), (sufficiency, -1)):
            got = judge(case, exact, operator=operator)
            assert got.where == {"operator": operator}
            assert np.isfinite(got.values).all()
            if operator == case.operators[0]:
                assert sign * got.values.mean() > sign * judge(case, chance, operator=operator).values.mean()
    assert np.isnan(agreement(case, chance).values).tolist() == [False, False, False, False, True]
