"""`lrp` behind the real desk: known answers, conservation, refusals, cost, and agreement with leave-one-out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_models import TEXTS as LLAMA_TEXTS
from tiny_models import llama
from torch import Tensor, nn

from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.errors import Unsupported
from regard.explainers.input_x_gradient import input_x_gradient
from regard.explainers.integrated_gradients import integrated_gradients
from regard.explainers.leave_one_out import leave_one_out
from regard.explainers.lrp import lrp
from regard.measures.agreement import kendall
from regard.models.open.load import load
from regard.models.open.wrap import wrap
from regard.present.summary import absorbed_shares
from regard.records import Example, Relevance
from regard.testing.toy import ToyCase

ACCOUNTS = (
    "special", "absorbed_bias", "absorbed_position", "absorbed_softmax", "absorbed_baseline", "absorbed_objective"
)  # fmt: skip


def whole(relevance: Relevance) -> np.ndarray[Any, Any]:
    """What the values and the extras sum to."""
    return np.array([row.sum() for row in relevance]) + sum(relevance.extras[name] for name in ACCOUNTS)


def passes(case: DeskCase) -> tuple[int, int]:
    """(forward, backward) passes so far."""
    costs = case.desk.meter.costs()
    return sum(cost.forwards for cost in costs), sum(cost.backwards for cost in costs)


def table_case(module: nn.Module, rows: np.ndarray[Any, Any]) -> DeskCase:
    columns = [f"c{i}" for i in range(rows.shape[1])]
    model = wrap(module, modality="tabular", labels=["a", "b"], columns=columns, class_tokens=0, device="cpu")
    return DeskCase(Desk(model), [Example(str(i), {"row": row}) for i, row in enumerate(rows)])


def words_case(module: nn.Module, texts: list[str]) -> DeskCase:
    model = wrap(
        module,
        lambda text: [int(word) for word in text.split()],
        labels=["a", "b"],
        mask="mask",
        mask_id=1,
        device="cpu",
    )
    return DeskCase(Desk(model), [Example(text, {"text": text}) for text in texts])


def test_linear_toy_model_is_explained_exactly() -> None:
    case = ToyCase()
    relevance = lrp(case)
    for i, row in enumerate(relevance):
        np.testing.assert_allclose(row, case.exact(i), atol=1e-12)


def test_linear_model_with_bias_has_relevance_and_bias_share() -> None:
    torch.manual_seed(0)
    module = nn.Linear(4, 2)
    rows = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    case = table_case(module, rows)
    relevance = lrp(case, baseline="zero")
    weight, bias = module.weight.detach().numpy(), module.bias.detach().numpy()
    for i, row in enumerate(relevance):
        target = int(str(case.targets[i]))
        np.testing.assert_allclose(row, (weight[target] - weight[1 - target]) * rows[i], atol=1e-6)
        assert relevance.extras["absorbed_bias"][i] == pytest.approx(bias[target] - bias[1 - target], abs=1e-6)
    np.testing.assert_allclose(whole(relevance), case.base().value, atol=1e-6)


@pytest.mark.parametrize("modality", ["tabular", "text"])
def test_baseline_keeps_its_share(modality: str) -> None:
    """(x - b) . g for the units, b . g for the baseline; a table without background has baselines of zeros."""
    rng = np.random.default_rng(0)
    if modality == "text":
        case = words_case(Planted().eval(), [" ".join(map(str, rng.integers(2, 40, size=6))) for _ in range(2)])
    else:
        torch.manual_seed(0)
        case = table_case(nn.Linear(4, 2), rng.normal(size=(2, 4)).astype(np.float32))
    for baseline in case.baselines:
        relevance = lrp(case, baseline=baseline)
        np.testing.assert_allclose(whole(relevance), case.base().value, atol=1e-5)
        if modality == "tabular":
            np.testing.assert_allclose(
                relevance.values, integrated_gradients(case, baseline=baseline).values, atol=1e-5
            )
        parts = np.abs(relevance.extras["absorbed_baseline"])
        zeros = baseline == "zero" or (modality, baseline) == ("tabular", "mean")
        assert parts.max() < 1e-6 if zeros else parts.max() > 1e-3


def test_llama_conserves_onto_its_tokens(tmp_path: Path) -> None:
    """No bias and no added positions: the values sum to the logits' share of the objective."""
    case = DeskCase(Desk(load(llama(tmp_path), device="cpu")), [Example(t, {"text": t}) for t in LLAMA_TEXTS[:6]])
    for rule in ("cp", "attnlrp"):
        relevance = lrp(case, rule=rule, baseline="zero")
        np.testing.assert_allclose(whole(relevance), case.base().value, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(relevance.extras["value"], case.base().value, rtol=1e-4, atol=1e-4)
        for name in ("absorbed_bias", "absorbed_position", "absorbed_baseline"):
            np.testing.assert_allclose(relevance.extras[name], 0, atol=1e-6)
        assert bool(relevance.extras["absorbed_softmax"].any()) == (rule == "attnlrp")
    assert not [name for name in lrp(case, rule="ln").extras if name.startswith("absorbed")]


class Planted(nn.Module):
    """Evidence in the direction of each word's vector, behind a LayerNorm, which hides it from the plain gradient."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding, self.norm, self.out = nn.Embedding(40, 8), nn.LayerNorm(8), nn.Linear(8, 2)

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        real = torch.ones_like(ids) if mask is None else mask
        states = self.norm(self.embedding(ids)) * real[..., None]
        return self.out(states.sum(1) / real.sum(1, keepdim=True))


def test_lrp_agrees_better_with_leave_one_out_than_the_plain_gradient() -> None:
    rng = np.random.default_rng(0)
    texts = [" ".join(map(str, rng.integers(2, 40, size=12))) for _ in range(8)]
    case = words_case(Planted().eval(), texts)
    removed = leave_one_out(case, operator="delete")
    agreement = {
        method.__name__: np.mean([kendall(a, b) for a, b in zip(method(case), removed, strict=True)])
        for method in (lrp, input_x_gradient)
    }
    assert agreement["lrp"] > 0.9
    assert agreement["lrp"] > agreement["input_x_gradient"] + 0.2


class Counting(nn.Module):
    """Another output every time."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, row: Tensor) -> Tensor:
        self.calls += 1
        return row[:, :2] * self.calls


class Hidden(nn.Module):
    """Loses relevance: where the clamp acts, its output is a constant that nobody accounts for."""

    def forward(self, row: Tensor) -> Tensor:
        return row[:, :2].clamp(min=1.5)


@pytest.mark.parametrize("module", [Counting(), Hidden()])
def test_refused_model_stays_refused_without_another_pass(module: nn.Module) -> None:
    case = table_case(module, np.array([[1.0, 2.0], [2.0, 1.0]], np.float32))
    case.base()
    with pytest.raises(Unsupported) as first:
        lrp(case)
    spent = passes(case)
    with pytest.raises(Unsupported) as second:
        lrp(case)
    assert str(first.value) == str(second.value)
    assert passes(case) == spent


class Probabilities(nn.Module):
    """Ends in a softmax, which the rule cp holds constant elsewhere."""

    def __init__(self, logits: nn.Module) -> None:
        super().__init__()
        self.logits = logits

    def forward(self, row: Tensor) -> Tensor:
        return torch.softmax(self.logits(row), -1)


def test_model_that_ends_in_a_softmax_is_explained_by_its_logits() -> None:
    torch.manual_seed(0)
    logits = nn.Sequential(nn.Linear(3, 5), nn.GELU(), nn.Linear(5, 2))
    rows = np.random.default_rng(1).normal(size=(3, 3)).astype(np.float32)
    plain, ended = (lrp(table_case(module, rows)) for module in (logits, Probabilities(logits)))
    np.testing.assert_allclose(ended.values, plain.values, atol=1e-5)


def test_costs_one_forward_and_one_backward_per_example() -> None:
    case = table_case(nn.Linear(4, 2), np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32))
    case.base()
    before = passes(case)
    lrp(case)
    once = passes(case)
    assert (once[0] - before[0], once[1] - before[1]) == (5, 5)
    lrp(case)
    assert passes(case) == once


def test_shares_of_the_objective_sum_to_one() -> None:
    extras = {f"absorbed_{name}": np.array([amount]) for name, amount in (("bias", -1.0), ("position", 0.0))}
    extras |= {"absorbed_softmax": np.array([2.0]), "special": np.array([1.0]), "value": np.array([3.0])}
    relevance = Relevance.of("lrp", ["x"], [np.array([5.0, -1.0])], signed=True, extras=extras)
    shares = absorbed_shares(relevance)
    assert shares == {"units": 0.5, "bias": 0.125, "position": 0.0, "softmax": 0.25, "rest": 0.125}
    assert absorbed_shares(Relevance.of("other", ["x"], [np.ones(2)], signed=True)) == {}
