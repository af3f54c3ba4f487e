"""Edits by site, the two gradients, and passes that start at the lowest edited site."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from attention_zoo import Additive, Written, alive, inputs
from torch import Tensor, nn

from regard.errors import InputError, UnknownName, Unsupported
from regard.records import Edit
from regard.tap.attention_gradients import attention_gradients, call_with_weights
from regard.tap.capture_call import capture_call
from regard.tap.declared_sites import register_site
from regard.tap.replay import record_below
from regard.testing.architectures import find

Call = Callable[[], Tensor]


def bert() -> tuple[nn.Module, Call, Tensor]:
    model = find("BERT").build()
    ids = torch.randint(3, 50, (3, 7), generator=torch.Generator().manual_seed(0))
    mask = torch.tensor([[1] * 7, [1] * 4 + [0] * 3, [1] * 6 + [0]])
    return model, lambda: model(input_ids=ids, attention_mask=mask).last_hidden_state[:, 0], mask


def written(way: str) -> tuple[nn.Module, Call, None]:
    model, x = alive(Written(way)), inputs()
    return model, lambda: model(x), None


def additive(way: str) -> tuple[nn.Module, Call, None]:
    model, x = alive(Additive(way)), inputs()
    return model, lambda: model(x), None


def sinks() -> tuple[nn.Module, Call, Tensor]:
    model, given = find("gpt-oss").build(), find("gpt-oss").inputs()
    last = given["attention_mask"].sum(-1) - 1
    return model, lambda: model(**given).logits[torch.arange(len(last)), last], given["attention_mask"]


MODELS: dict[str, Callable[[], tuple[nn.Module, Call, Tensor | None]]] = {
    "bert": bert,
    "gpt-oss": sinks,
    "sdpa": lambda: written("sdpa"),
    "einsum": lambda: written("einsum"),
    "bmm": lambda: written("bmm"),
    "bilstm": lambda: additive("multiply and sum"),
    "bilstm bmm": lambda: additive("bmm of values"),
}


@pytest.mark.parametrize("name", MODELS)
def test_nothing_changed_changes_nothing(name: str) -> None:
    model, call, mask = MODELS[name]()
    with torch.no_grad():
        plain, taps = capture_call(model, call, key_padding=mask)
        same, _ = capture_call(model, call, edits=[Edit("scale", factor=1.0)])
        assert (same - plain).abs().max() < 2e-6
        weights = {s.site.key: torch.tensor(s.dense().weights) for s in taps.sites}
        assert (call_with_weights(model, call, weights) - plain).abs().max() < 2e-6
        replaced, _ = capture_call(
            model, call, edits=[Edit("replace", site=k, values=w.numpy()) for k, w in weights.items()]
        )
        assert (replaced - plain).abs().max() < 2e-6


@pytest.mark.parametrize("name", MODELS)
def test_each_edit_does_what_it_says(name: str) -> None:
    model, call, mask = MODELS[name]()
    with torch.no_grad():
        plain, base = capture_call(model, call, key_padding=mask)
        before = base.sites[0].dense()
        key = base.sites[0].site.key

        def after(edit: Edit) -> tuple[Tensor, np.ndarray[Any, Any]]:
            out, taps = capture_call(model, call, edits=[edit], key_padding=mask)
            return out, taps.sites[0].dense().weights

        real = before.weights.sum(-1) > 0
        out, uniform = after(Edit("uniform", key))
        assert (out - plain).abs().max() > 1e-4
        for row, old in zip(uniform[real], before.weights[real], strict=True):
            filled = row[row > 0]
            assert np.ptp(filled) < 1e-6
            assert abs(filled.sum() - old.sum()) < 1e-5

        out, permuted = after(Edit("permute", key, seed=1))
        assert (out - plain).abs().max() > 1e-4
        np.testing.assert_allclose(np.sort(permuted, -1), np.sort(before.weights, -1), atol=1e-6)
        assert not permuted[before.weights == 0].any()
        _, other = after(Edit("permute", key, seed=2))
        assert np.abs(other - permuted).max() > 1e-3

        _, cut = after(Edit("knock_out", key, keys=(1,), heads=(0,)))
        assert not cut[:, 0, :, 1].any()
        if before.sink is None:
            expected = before.weights[:, 0].copy()
            expected[..., 1] = 0
            left = expected.sum(-1, keepdims=True)
            np.testing.assert_allclose(cut[:, 0], np.divide(expected, left, where=left > 0, out=expected), atol=1e-5)
        np.testing.assert_allclose(cut[:, 1:], before.weights[:, 1:], atol=1e-6)

        _, silent = after(Edit("mask_heads", key, heads=(0,)))
        assert not silent[:, 0].any()
        _, half = after(Edit("scale", key, queries=(0,), factor=0.5))
        np.testing.assert_allclose(half[:, :, 0], before.weights[:, :, 0] * 0.5, atol=1e-6)
        np.testing.assert_allclose(half[:, :, 1:], before.weights[:, :, 1:], atol=1e-6)


@pytest.mark.parametrize("name", ["bert", "einsum", "bilstm"])
def test_every_row_may_have_edits_of_its_own(name: str) -> None:
    model, call, mask = MODELS[name]()
    edits = [[Edit("uniform")], [], [Edit("permute", seed=4), Edit("mask_heads", heads=(0,))]]
    with torch.no_grad():
        plain, _ = capture_call(model, call)
        together, _ = capture_call(model, call, edits=edits, key_padding=mask)
        for row, own in enumerate(edits):
            alone = capture_call(model, call, edits=own, key_padding=mask)[0] if own else plain
            assert (together[row] - alone[row]).abs().max() < 2e-6
        with pytest.raises(InputError, match="one list for each"):
            capture_call(model, call, edits=edits[:2])


def test_permutations_do_not_depend_on_padding() -> None:
    model = find("BERT").build()
    ids = torch.randint(3, 50, (1, 5), generator=torch.Generator().manual_seed(0))

    def permuted(length: int) -> np.ndarray[Any, Any]:
        padded = torch.nn.functional.pad(ids, (0, length - 5))
        mask = (torch.arange(length) < 5).long()[None]
        _, taps = capture_call(
            model,
            lambda: model(input_ids=padded, attention_mask=mask),
            edits=[Edit("permute", seed=3)],
            key_padding=mask,
        )
        return taps.sites[-1].dense().weights[:, :, :5, :5]

    with torch.no_grad():
        np.testing.assert_allclose(permuted(5), permuted(9), atol=1e-5)


def test_wrong_edits_are_refused() -> None:
    model, call, _ = written("sdpa")
    with pytest.raises(UnknownName, match=r"layers\.0"):
        capture_call(model, call, edits=[Edit("uniform", "layer.0")])
    with pytest.raises(InputError, match="heads below 2"):
        capture_call(model, call, edits=[Edit("uniform", heads=(5,))])
    with pytest.raises(InputError, match="broadcast"):
        capture_call(model, call, edits=[Edit("replace", values=np.ones((7,), np.float32))])
    with pytest.raises(InputError, match="finite"):
        capture_call(model, call, edits=[Edit("replace", values=np.full((5,), np.nan, np.float32))])
    with pytest.raises(UnknownName):
        call_with_weights(model, call, {"nowhere": torch.ones(1)})


@pytest.mark.parametrize("name", ["bert", "sdpa", "einsum", "bilstm"])
def test_two_gradients_against_finite_differences(name: str) -> None:
    model, call, _ = MODELS[name]()
    model.double()
    if name in ("sdpa", "einsum", "bilstm"):
        x = inputs().double()
        call = lambda: model(x)  # noqa: E731

    def objective(out: Tensor) -> Tensor:
        return (out[:, 0].log() if name != "bert" else out[:, 0]).sum()

    _, frozen = attention_gradients(model, call, objective, kind="frozen")
    _, in_graph = attention_gradients(model, call, objective, kind="in_graph")
    last = max(range(len(frozen)), key=lambda i: frozen[i].site.layer)
    for i, (a, b) in enumerate(zip(frozen, in_graph, strict=True)):
        assert torch.allclose(a.weights, b.weights)
        gap = (a.gradient - b.gradient).abs().max()
        assert (gap < 1e-9) == (i == last)

    base = {g.site.key: g.weights for g in frozen}
    place, step = (0, 0, 0, 1), 1e-5
    for chosen in {0, last}:
        key = frozen[chosen].site.key

        def moved(by: float, key: str = key, *, all_fixed: bool = True) -> float:
            changed = base[key].clone()
            changed[place] += by
            given = {**base, key: changed} if all_fixed else {key: changed}
            with torch.no_grad():
                return float(objective(call_with_weights(model, call, given)))

        slope = (moved(step) - moved(-step)) / (2 * step)
        assert abs(slope - float(frozen[chosen].gradient[place])) < 1e-6
        slope = (moved(step, all_fixed=False) - moved(-step, all_fixed=False)) / (2 * step)
        assert abs(slope - float(in_graph[chosen].gradient[place])) < 1e-6


def test_gradients_reach_replaced_weights_of_a_frozen_model() -> None:
    model, call, _ = additive("bmm")
    model.requires_grad_(False)
    _, taps = capture_call(model, call)
    given = torch.tensor(taps.sites[0].dense().weights, requires_grad=True)
    call_with_weights(model, call, {"model": given})[:, 0].sum().backward()
    assert given.grad is not None
    assert given.grad.abs().max() > 0


def counted(model: nn.Module, call: Callable[[], Any]) -> Counter[str]:
    calls: Counter[str] = Counter()
    own = {n: m.forward for n, m in model.named_modules()}

    def count(name: str, forward: Callable[..., Any]) -> Callable[..., Any]:
        def counting(*args: Any, **keywords: Any) -> Any:
            calls[name] += 1
            return forward(*args, **keywords)

        return counting

    for name, module in model.named_modules():
        module.forward = count(name, own[name])
    try:
        call()
    finally:
        for module in model.modules():
            del module.forward
    return calls


@pytest.mark.parametrize(
    ("name", "site", "skipped"),
    [
        ("bert", "encoder.layer.1.*", ["embeddings", "encoder.layer.0"]),
        ("bert", "encoder.layer.0.*", ["embeddings"]),
        ("sdpa", "layers.1", ["layers.0"]),
        ("einsum", "layers.1", ["layers.0"]),
        ("bilstm", "*", ["encoder", "project", "score"]),
    ],
)
def test_what_is_below_the_edit_is_computed_once(name: str, site: str, skipped: list[str]) -> None:
    model, call, mask = MODELS[name]()
    edits = [Edit("permute", site, seed=2)]
    with torch.no_grad():
        whole, _ = capture_call(model, call, edits=edits, key_padding=mask)
        base, resume = record_below(model, call, site)
        assert (base - call()).abs().max() < 1e-6
        resumed, _ = capture_call(model, call, edits=edits, key_padding=mask, resume=resume)
        assert torch.equal(whole, resumed)
        calls = counted(model, lambda: capture_call(model, call, edits=edits, resume=resume))
        inner = [n for n, _ in model.named_modules() if any(n.startswith(s + ".") for s in skipped)]
        assert calls[""] == 1
        assert not any(calls[n] for n in inner)
    assert not any("forward" in m.__dict__ for m in model.modules())


@pytest.mark.parametrize("name", ["bert", "sdpa", "bilstm"])
def test_variants_of_one_example_in_one_batch(name: str) -> None:
    """Four permutations of example 1 in one batch, its lower layers computed once."""
    torch.manual_seed(0)
    if name == "bert":
        model: nn.Module = find("BERT").build()
        ids, mask = torch.randint(3, 50, (1, 7)), torch.tensor([[1] * 5 + [0] * 2])

        def run(rows: int) -> Call:
            given = {"input_ids": ids.expand(rows, -1), "attention_mask": mask.expand(rows, -1)}
            return lambda: model(**given).last_hidden_state[:, 0]

        site = "encoder.layer.1.*"
    else:
        model, _, _ = MODELS[name]()
        x = inputs(1)

        def run(rows: int) -> Call:
            return lambda: model(x.expand(rows, -1, -1))

        site = "layers.1" if name == "sdpa" else "*"
    edits = [[Edit("permute", site, seed=s)] for s in range(4)]
    with torch.no_grad():
        _, resume = record_below(model, run(1), site)
        together, _ = capture_call(model, run(4), edits=edits, resume=resume.for_rows([0] * 4))
        for row, own in enumerate(edits):
            alone, _ = capture_call(model, run(1), edits=own)
            assert (together[row] - alone[0]).abs().max() < 2e-6


def test_one_module_for_all_layers() -> None:
    """ALBERT calls one module in every layer: sites are calls, and a resumed pass keeps their numbers."""
    model = find("ALBERT").build()
    ids = torch.randint(3, 50, (2, 6), generator=torch.Generator().manual_seed(0))

    def call() -> Tensor:
        out: Tensor = model(input_ids=ids).last_hidden_state
        return out

    with torch.no_grad():
        _, taps = capture_call(model, call)
        keys = [s.site.key for s in taps.sites]
        assert keys[1] == keys[0] + "#1"
        assert [s.site.layer for s in taps.sites] == [0, 1]
        whole, edited = capture_call(model, call, edits=[Edit("uniform", keys[1])])
        np.testing.assert_allclose(edited.sites[0].dense().weights, taps.sites[0].dense().weights, atol=1e-6)
        assert np.ptp(edited.sites[1].dense().weights) < 1e-6
        _, resume = record_below(model, call, keys[1])
        resumed, _ = capture_call(model, call, edits=[Edit("uniform", keys[1])], resume=resume)
    assert torch.equal(whole, resumed)


def test_a_registered_site_refuses_edits() -> None:
    class Hand(nn.Module):
        def forward(self, states: Tensor) -> Tensor:
            grown = states.sum(-1).exp()
            self.weights = grown / grown.sum(-1, keepdim=True)
            return (self.weights[..., None] * states).sum(1)

    hand = Hand()
    register_site(hand, lambda inputs, output: hand.weights)
    states = torch.rand(2, 5, 3)
    with pytest.raises(Unsupported, match="register_site"):
        capture_call(hand, lambda: hand(states), edits=[Edit("uniform")])
