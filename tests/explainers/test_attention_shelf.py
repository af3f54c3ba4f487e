"""The attention family where the truth is known: a pooling, a model built to use one token, formulas written out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.desk.site_questions import weight_gradients
from regard.errors import InputError, Unsupported
from regard.explainers.alti import alti
from regard.explainers.attention import attention
from regard.explainers.attention_x_gradient import attention_x_gradient
from regard.explainers.flow import flow
from regard.explainers.generic_relevance import generic_relevance
from regard.explainers.globenc import globenc
from regard.explainers.knock_out import knock_out
from regard.explainers.rollout import rollout
from regard.explainers.value_norms import value_norms
from regard.explainers.value_norms_residual import value_norms_residual
from regard.explainers.value_zeroing import value_zeroing
from regard.models.open.wrap import wrap
from regard.networks.classifier import AttentionClassifier
from regard.records import Example, Relevance
from regard.testing.battery import check_explainer
from regard.testing.toy import ToyCase

SHELF: dict[str, Callable[..., Relevance]] = {
    m.__name__: m
    for m in (
        attention, rollout, flow, attention_x_gradient, generic_relevance, value_norms, value_norms_residual, globenc,
        alti, value_zeroing, knock_out,
    )
}  # fmt: skip
TEXTS = ("a very long and winding road", "short one", "a b c d e f g h i", "again a very short one")


def encode(text: str) -> list[int]:
    return [3 + sum(map(ord, word)) % 57 for word in text.split()]


def cases(model: Any) -> Callable[[Sequence[int], int], DeskCase]:
    def make(positions: Sequence[int], seed: int) -> DeskCase:
        return DeskCase(Desk(model, seed=seed), [Example(TEXTS[i], {"text": TEXTS[i]}) for i in positions])

    return make


def share(values: np.ndarray) -> np.ndarray:
    return values / values.sum()


# ---------------------------------------------------------------------- a model that only pools


@pytest.fixture(scope="module")
def pooling() -> AttentionClassifier:
    torch.manual_seed(3)
    made = AttentionClassifier(words=60, classes=2, encoder="average", attention="additive", size=12, hidden=8).eval()
    with torch.no_grad():
        for p in made.parameters():
            p.mul_(2)
    return made


@pytest.fixture(scope="module")
def pooled(pooling: AttentionClassifier) -> DeskCase:
    return cases(wrap(pooling, encode, labels=["a", "b"], mask="mask", mask_id=1, device="cpu"))(range(4), 0)


@pytest.fixture(scope="module")
def inside(pooling: AttentionClassifier, pooled: DeskCase) -> list[dict[str, np.ndarray]]:
    """Weights, states, and the direction of the objective (log-odds of two classes: linear in the context)."""
    seen = []
    for i, text in enumerate(TEXTS):
        with torch.no_grad():
            read = pooling.read(torch.tensor([encode(text)]))
            t = int(str(pooled.targets[i]))
            direction = pooling.output.weight[t] - pooling.output.weight[1 - t]
            bias = pooling.output.bias[t] - pooling.output.bias[1 - t]
        a, h = read.weights[0].double().numpy(), read.states[0].double().numpy()
        seen.append({"a": a, "h": h, "w": direction.double().numpy(), "bias": np.array(float(bias))})
    return seen


def test_where_a_model_only_pools_methods_become_what_they_say(pooled: DeskCase, inside: Any) -> None:
    found = {name: method(pooled) for name, method in SHELF.items() if name != "rollout"}
    for i, s in enumerate(inside):
        a, h = s["a"], s["h"]
        parts, context = a[:, None] * h, a @ h
        np.testing.assert_allclose(found["attention"][i], a, atol=1e-6)
        np.testing.assert_allclose(found["flow"][i], a, atol=1e-6)
        lengths = share(np.linalg.norm(parts, axis=-1))
        for name in ("value_norms", "value_norms_residual", "globenc"):
            np.testing.assert_allclose(found[name][i], lengths, atol=1e-5)
        nearer = np.maximum(0, np.abs(context).sum() - np.abs(context - parts).sum(-1))
        np.testing.assert_allclose(found["alti"][i], share(nearer), atol=1e-5)
        left = context - parts
        norms = np.linalg.norm(left, axis=-1) * np.linalg.norm(context)
        if len(a) > 2:
            np.testing.assert_allclose(found["value_zeroing"][i], share(1 - left @ context / norms), atol=1e-4)
        np.testing.assert_allclose(found["attention_x_gradient"][i], parts @ s["w"], atol=1e-5)
        positive = np.maximum(parts @ s["w"], 0)
        np.testing.assert_allclose(found["generic_relevance"][i], share(positive), atol=1e-5)
        without = [float(share(np.delete(a, j)) @ np.delete(h, j, 0) @ s["w"]) for j in range(len(a))]
        np.testing.assert_allclose(found["knock_out"][i], float(context @ s["w"]) - np.array(without), atol=1e-5)
    assert found["flow"].extras["saturation"].tolist() == [1.0] * 4
    assert "mixing_ratio" not in found["value_norms_residual"].extras


def test_of_a_linear_reading_attention_x_gradient_is_conserved(pooled: DeskCase, inside: Any) -> None:
    got, base = attention_x_gradient(pooled), pooled.base()
    for i, s in enumerate(inside):
        assert got[i].sum() == pytest.approx(base.value[i] - float(s["bias"]), abs=1e-5)
    np.testing.assert_allclose(got.values, attention_x_gradient(pooled, gradient="frozen").values, atol=1e-7)


# ---------------------------------------------------------------------- a model that uses exactly one token


NEEDLE = 7


class Layer(nn.Module):
    """Every position attends to the needle, wherever it stands, and to nothing else; only its value is ever read."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))
        for m in (self.query, self.key, self.value, self.out):
            nn.init.zeros_(m.weight)
        with torch.no_grad():
            self.query.weight[0, 0] = 20.0  # a constant
            self.key.weight[0, 1] = 20.0  # is it the needle?
            self.value.weight[2, 2] = 8.0  # what is written there
            self.out.weight[3, 2] = 1.0

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        scores = self.query(x) @ self.key(x).mT / x.shape[-1] ** 0.5
        weights = scores.masked_fill(~mask[:, None], -torch.inf).softmax(-1)
        return x + self.out(weights @ self.value(x))


class Needle(nn.Module):
    """Embedding: constant, needle flag, content; one layer; two classes by the sign of what the layer wrote."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(60, 4)
        with torch.no_grad():
            table = torch.zeros(60, 4)
            table[:, 0] = 1.0
            table[NEEDLE, 1] = 1.0
            table[:, 2] = torch.linspace(0.1, 0.3, 60)
            table[NEEDLE, 2] = 1.0
            self.embedding.weight.copy_(table)
        self.layers = nn.ModuleList([Layer(4)])
        self.head = nn.Linear(4, 2, bias=False)
        nn.init.zeros_(self.head.weight)
        with torch.no_grad():
            self.head.weight[1, 3] = 1.0

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        x = self.embedding(ids)
        for layer in self.layers:
            x = layer(x, mask)
        last = mask.sum(1) - 1
        return self.head(x[torch.arange(len(x)), last])


@pytest.fixture(scope="module")
def needle() -> DeskCase:
    numbers = (f"20 21 {NEEDLE} 23 24", f"{NEEDLE} 33 34", f"40 {NEEDLE} 42 43 44 45")
    model = wrap(
        Needle().eval(), lambda t: [int(w) for w in t.split()], labels=["no", "yes"], mask="mask", mask_id=1,
        pooling="last", device="cpu",
    )  # fmt: skip
    return DeskCase(Desk(model), [Example(t, {"text": t}) for t in numbers])


@pytest.mark.parametrize("name", SHELF)
def test_the_one_token_that_is_used_comes_first(name: str, needle: DeskCase) -> None:
    got = SHELF[name](needle)
    for row, text in zip(got, needle.ids, strict=True):
        place = text.split().index(str(NEEDLE))
        # mixed half with the residual, rollout and flow cannot set the position that is read below what it reads
        assert row[place] == pytest.approx(row.max(), abs=1e-6), row
        assert (np.delete(row, place)[:-1] < 0.01 * abs(row[place])).all()


def test_only_the_token_that_is_used_has_an_effect(needle: DeskCase) -> None:
    gone, slope = knock_out(needle), attention_x_gradient(needle)
    for i, text in enumerate(needle.ids):
        place = text.split().index(str(NEEDLE))
        value = needle.base().value[i]
        assert slope[i][place] == pytest.approx(value, rel=1e-5), "the whole objective, exactly"
        assert np.abs(np.delete(slope[i], place)).max() < 1e-6
        assert np.abs(np.delete(gone[i], place)).max() < 1e-5
        assert gone[i][place] > 0.5 * value
    read = knock_out(needle, queries="read")
    np.testing.assert_allclose(read.values, gone.values, atol=1e-5)


def test_mixing_is_told_where_a_residual_stream_is(needle: DeskCase) -> None:
    got = value_norms_residual(needle)
    for i, text in enumerate(needle.ids):
        ids = [int(w) for w in text.split()]
        own = np.array([1.0, 0.0, 0.1 + 0.2 * ids[-1] / 59, 0.0])
        added = 8.0
        assert got.extras["mixing_ratio"][i] == pytest.approx(added / (added + np.linalg.norm(own)), rel=1e-4)
    assert (got.extras["decomposition_error"] < 1e-5).all()


def test_what_the_shelf_refuses(needle: DeskCase) -> None:
    for wrong in ({"heads": 3}, {"heads": "none"}, {"layers": 4}):
        with pytest.raises(InputError):
            knock_out(needle, **wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError):
        value_norms(needle, heads=1)
    for method in SHELF.values():
        with pytest.raises(Unsupported):
            method(ToyCase(flavour="none"))


# ---------------------------------------------------------------------- formulas, on a random model with one layer


class Two(Needle):
    """The same with random weights and two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Layer(4), Layer(4)])
        torch.manual_seed(5)
        for p in self.parameters():
            nn.init.normal_(p, std=0.6)


@pytest.fixture(scope="module")
def two() -> tuple[Two, DeskCase]:
    module = Two().eval()
    model = wrap(module, encode, labels=["no", "yes"], mask="mask", mask_id=1, pooling="last", device="cpu")
    return module, cases(model)(range(4), 0)


def test_generic_relevance_is_the_recursion_of_the_paper(two: tuple[Two, DeskCase]) -> None:
    _, case = two
    got = generic_relevance(case)
    for i, text in enumerate(TEXTS):
        n = len(text.split())
        r = np.eye(n)
        for s in weight_gradients(case, i):
            r = r + np.maximum(s.weights[0] * s.gradient[0], 0) @ r
        want = (r - np.eye(n))[-1]
        np.testing.assert_allclose(got[i], share(want) if want.any() else want, atol=1e-5)


def test_globenc_and_alti_written_out(two: tuple[Two, DeskCase]) -> None:
    module, case = two
    enc, nearer = globenc(case), alti(case)
    for i, text in enumerate(TEXTS):
        with torch.no_grad():
            x = module.embedding(torch.tensor([encode(text)]))
            products = [np.eye(x.shape[1])] * 2
            for layer in module.layers:
                weights = (layer.query(x) @ layer.key(x).mT / 2).softmax(-1)[0].double().numpy()
                values = layer.out(layer.value(x))[0].double().numpy()
                parts = weights[..., None] * values + np.eye(len(weights))[..., None] * x[0].double().numpy()
                x = layer(x, torch.ones(x.shape[:2], dtype=torch.bool))
                y = x[0].double().numpy()
                norms = np.linalg.norm(parts, axis=-1)
                close = np.maximum(0, np.abs(y).sum(-1)[:, None] - np.abs(y[:, None] - parts).sum(-1))
                local = [m / m.sum(-1, keepdims=True) for m in (norms, close)]
                products = [m @ p for m, p in zip(local, products, strict=True)]
        np.testing.assert_allclose(enc[i], products[0][-1], atol=1e-5)
        np.testing.assert_allclose(nearer[i], products[1][-1], atol=1e-4)


@pytest.mark.parametrize("name", SHELF)
def test_every_method_keeps_the_rules_on_a_real_model(name: str, two: tuple[Two, DeskCase]) -> None:
    model = wrap(two[0], encode, labels=["no", "yes"], mask="mask", mask_id=1, pooling="last", device="cpu")
    check_explainer(SHELF[name], cases={"a torch module": cases(model)}, size=4)


def test_a_sink_may_be_dropped(two: tuple[Two, DeskCase]) -> None:
    _, case = two
    with_sink, without = attention(case), attention(case, drop_sink=True)
    for i in range(4):
        assert without[i][0] == 0
        np.testing.assert_allclose(without[i][1:], share(with_sink[i][1:]))
        assert with_sink.extras["sink_mass"][i] == pytest.approx(with_sink[i][0])


def test_variants_of_one_example_share_a_batch(two: tuple[Two, DeskCase]) -> None:
    model = wrap(two[0], encode, labels=["no", "yes"], mask="mask", mask_id=1, pooling="last", device="cpu")
    counted = []
    forward = model.forward

    def counting(batch: Any, targets: Any, edits: Any = ()) -> Any:
        counted.append(len(batch))
        return forward(batch, targets, edits)

    model.forward = counting  # type: ignore[method-assign]
    case = cases(model)(range(4), 0)
    got = knock_out(case)
    assert counted == [sum(len(t.split()) for t in TEXTS)]
    alone = [knock_out(cases(model)([i], 0))[0] for i in range(4)]
    np.testing.assert_allclose(got.values, np.concatenate(alone), atol=1e-6)
