"""Modules as people write them: the tap finds what the module itself says its weights are, or says why not."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from attention_zoo import alive
from torch import Tensor, nn

import regard
from regard.errors import CaptureError, InputError, Unsupported
from regard.models.open.from_arrays import from_arrays
from regard.records import Edit
from regard.tap.attention_gradients import attention_gradients, call_with_weights
from regard.tap.capture_call import capture_call
from regard.tap.declared_sites import register_site

WORDS, WIDTH, HEADS = 40, 8, 2
Way = Callable[["Odd", Tensor], Tensor]


class Odd(nn.Module):
    """An embedding, one `way` from it to states, and class logits; `seen` holds the weights by the module's word."""

    def __init__(self, way: Way) -> None:
        super().__init__()
        self.way, self.seen = way, list[Tensor]()
        self.embedding, self.score, self.out = nn.Embedding(WORDS, WIDTH), nn.Linear(WIDTH, 1), nn.Linear(WIDTH, 3)
        self.q, self.k, self.v = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.one_k, self.one_v, self.rows = (nn.Linear(WIDTH, WIDTH // HEADS) for _ in range(3))
        self.mix = nn.Parameter(torch.zeros(HEADS, WIDTH // HEADS, WIDTH))
        self.temperature = nn.Parameter(torch.ones(HEADS))
        self.encoder, self.cell = nn.GRU(WIDTH, WIDTH, batch_first=True), nn.GRUCell(WIDTH, WIDTH)

    def forward(self, ids: Tensor) -> Any:
        self.seen.clear()
        return self.out(self.way(self, self.embedding(ids)))

    def see(self, weights: Tensor, *shape: int) -> Tensor:
        self.seen.append(weights.detach().reshape(shape or weights.shape))
        return weights

    def heads(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = (f(x).unflatten(-1, (HEADS, -1)) for f in (self.q, self.k, self.v))
        return q, k, v


def bahdanau(m: Odd, x: Tensor) -> Tensor:
    h, last = m.encoder(x)
    state = last[0]
    for _ in range(3):
        a = m.see(F.softmax(m.score(torch.tanh(m.q(state).unsqueeze(1) + m.k(h))).squeeze(-1), 1))
        m.seen[-1] = m.seen[-1][:, None, None]
        state = m.cell(torch.bmm(a.unsqueeze(1), h).squeeze(1), state)
    return state


def multi_query(m: Odd, x: Tensor) -> Tensor:
    scores = torch.einsum("bqhd,bkd,h->bhqk", m.heads(x)[0], m.one_k(x), m.temperature)
    return torch.einsum("bhqk,bkd->bqhd", m.see(scores.softmax(-1)), m.one_v(x)).flatten(2).mean(1)


def three_operands(m: Odd, x: Tensor) -> Tensor:
    q, k, v = m.heads(x)
    weights = m.see(torch.einsum("bqhd,bkhd->bhqk", q, k).softmax(-1))
    return torch.einsum("bhqk,bkhd,hde->bqe", weights, v, m.mix).mean(1)


def keys_before_heads(m: Odd, x: Tensor) -> Tensor:
    q, k, v = m.heads(x)
    weights = torch.einsum("bqhd,bkhd->bqkh", q, k).softmax(2)
    m.see(weights.permute(0, 3, 1, 2))
    return torch.einsum("bqkh,bkhd->bqhd", weights, v).flatten(2).mean(1)


def co_attention(m: Odd, x: Tensor) -> Tensor:
    a, b = m.q(x), m.k(x)
    scores = a @ b.mT / 4
    one, other = scores.softmax(2), scores.softmax(1)
    m.see(one[:, None])
    m.see(other.mT[:, None])
    return (one @ b).mean(1) + (other.mT @ a).mean(1)


def memory(m: Odd, x: Tensor) -> Tensor:
    u = x.mean(1)
    for _ in range(3):
        w = (x @ u.unsqueeze(-1)).squeeze(-1).softmax(-1)
        m.see(w[:, None, None])
        u = m.q(u) + (w.unsqueeze(-1) * x).sum(1)
    return u


def logarithms(m: Odd, x: Tensor) -> Tensor:
    weights = F.log_softmax(m.q(x) @ m.k(x).mT / 2, -1).exp()
    m.see(weights[:, None])
    return (weights @ m.v(x)).mean(1)


def mean_of_products(m: Odd, x: Tensor) -> Tensor:
    w = m.score(x).softmax(1)
    m.see(w.mT[:, None])
    return (w * x).mean(1) * x.shape[1]


def time_first(m: Odd, x: Tensor) -> Tensor:
    x = x.transpose(0, 1)
    w = torch.einsum("qbd,kbd->qbk", m.q(x), m.k(x)).softmax(-1)
    m.see(w.transpose(0, 1)[:, None])
    return torch.einsum("qbk,kbd->qbd", w, m.v(x)).mean(0)


def one_by_one(m: Odd, x: Tensor) -> Tensor:
    states = []
    for row in x:
        w = (m.q(row) @ m.k(row).T / 2).softmax(-1)
        m.see(w[None, None])
        states.append((w @ m.v(row)).mean(0))
    return torch.stack(states)


def learned_rows(m: Odd, x: Tensor) -> Tensor:
    w = m.rows(torch.tanh(m.q(x))).softmax(1).mT
    m.see(w[:, None])
    return (w @ x).mean(1)


def double(m: Odd, x: Tensor) -> Tensor:
    w = F.softmax(m.q(x) @ m.k(x).mT / 2, -1, dtype=torch.float64)
    m.see(w[:, None])
    return (w.to(x.dtype) @ m.v(x)).mean(1)


def nothing_to_attend_to(m: Odd, x: Tensor) -> Tensor:
    before = torch.ones(x.shape[1], x.shape[1]).tril(-1).bool()
    w = (m.q(x) @ m.k(x).mT / 2).masked_fill(~before, -torch.inf).softmax(-1).nan_to_num(0.0)
    m.see(w[:, None])
    return (w @ m.v(x)).mean(1)


def gates(m: Odd, x: Tensor) -> Tensor:
    x = x * m.q(x).softmax(-1)
    w = m.score(x).softmax(1)
    m.see(w.mT[:, None])
    return (w * x).sum(1)


FOUND: dict[str, Way] = {
    way.__name__: way
    for way in (
        bahdanau, multi_query, three_operands, keys_before_heads, co_attention, memory, logarithms, mean_of_products,
        time_first, one_by_one, learned_rows, double, nothing_to_attend_to, gates,
    )
}  # fmt: skip


def ids(length: int = 6) -> Tensor:
    return torch.randint(4, WORDS, (2, length), generator=torch.Generator().manual_seed(length))


@pytest.mark.parametrize("way", FOUND)
def test_weights_edits_and_gradients_are_the_modules_own(way: str) -> None:
    model, given = alive(Odd(FOUND[way])), ids()
    with torch.no_grad():
        plain = model(given)
        for again in (given, given, ids(5)):
            out, taps = capture_call(model, lambda again=again: model(again))
            assert len(taps.sites) == len(model.seen)
            for site, truth in zip(taps.sites, model.seen, strict=True):
                np.testing.assert_allclose(site.dense().weights, truth.float().numpy(), atol=1e-6)
        weights = {
            s.site.key: torch.tensor(s.dense().weights) for s in capture_call(model, lambda: model(given))[1].sites
        }
        assert (call_with_weights(model, lambda: model(given), weights) - plain).abs().max() < 2e-6
        key, first = next(iter(weights.items()))
        for edit in (
            Edit("uniform", key), Edit("knock_out", key, keys=(1,)), Edit("mask_heads", key, heads=(0,)),
            Edit("replace", key, values=np.full(first.shape, 1 / first.shape[-1], np.float32)),
        ):  # fmt: skip
            out, taps = capture_call(model, lambda: model(given), edits=[edit])
            assert torch.isfinite(out).all()
            assert (out - plain).abs().max() > 1e-4, edit.what
            np.testing.assert_allclose(taps.sites[0].dense().weights, model.seen[0].float().numpy(), atol=1e-6)
    call: Callable[[], Tensor] = lambda: model(given)  # noqa: E731
    _, frozen = attention_gradients(model, call, lambda o: o[:, 0].sum(), kind="frozen")
    _, in_graph = attention_gradients(model, call, lambda o: o[:, 0].sum(), kind="in_graph")
    torch.testing.assert_close(frozen[-1].gradient, in_graph[-1].gradient)
    nudge = torch.zeros_like(first)
    nudge[0, 0, -1, 1] = 1e-2
    with torch.no_grad():
        up, down = (call_with_weights(model, call, {**weights, key: first + s * nudge})[:, 0].sum() for s in (1, -1))
    assert abs(float(up - down) / 2e-2 - float(frozen[0].gradient[0, 0, -1, 1])) < 2e-3


def masked_and_normalised(m: Odd, x: Tensor) -> Tensor:
    real = (x[..., 0] > 0).float()
    w = m.score(x).squeeze(-1).softmax(-1) * real
    return ((w / (w.sum(-1, keepdim=True) + 1e-13)).unsqueeze(1) @ x).squeeze(1)


def with_dropout(m: Odd, x: Tensor) -> Tensor:
    return (F.dropout(m.score(x).softmax(1), 0.5, m.training) * x).sum(1)


@pytest.mark.parametrize("way", [masked_and_normalised, with_dropout])
def test_weights_that_are_changed_before_use_are_told(way: Way) -> None:
    model = alive(Odd(way)).train()
    torch.manual_seed(0)
    with torch.no_grad():
        _, taps = capture_call(model, lambda: model(ids()))
    assert taps.checked.params["proof"]["message"] == "check.sites_changed"


def nested(m: Odd, x: Tensor) -> Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ragged = torch.nested.nested_tensor([x[0], x[1, 1:]], layout=torch.jagged)
        q, k, v = (f(ragged).unflatten(-1, (HEADS, -1)).transpose(1, 2) for f in (m.q, m.k, m.v))
        out = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
    return torch.nested.to_padded_tensor(out, 0.0).mean(1)


def mapped(m: Odd, x: Tensor) -> Tensor:
    return torch.func.vmap(lambda q, v: (q @ q.T).softmax(-1) @ v)(m.q(x), m.v(x)).mean(1)


def by_hand(m: Odd, x: Tensor) -> Tensor:
    e = (m.q(x) @ m.k(x).mT / 2).exp()
    return (e / e.sum(-1, keepdim=True) @ m.v(x)).mean(1)


def by_features(m: Odd, x: Tensor) -> Tensor:
    q, k = F.elu(m.q(x)) + 1, F.elu(m.k(x)) + 1
    return (q @ (k.mT @ m.v(x)) / (q @ k.sum(1)[..., None])).mean(1)


def by_sigmoid(m: Odd, x: Tensor) -> Tensor:
    return (torch.sigmoid(m.q(x) @ m.k(x).mT) @ m.v(x)).mean(1)


def only_a_gate(m: Odd, x: Tensor) -> Tensor:
    return (x * m.q(x).softmax(-1)).mean(1)


@pytest.mark.parametrize(
    ("way", "told"),
    [
        (nested, "nested"), (mapped, "vmap"), (by_hand, "register_site"), (by_features, "register_site"),
        (by_sigmoid, "register_site"), (only_a_gate, "linear layer"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)  # fmt: skip
def test_what_cannot_be_captured_says_so(way: Way, told: str) -> None:
    model = alive(Odd(way))
    with torch.no_grad(), pytest.raises(CaptureError, match=told):
        capture_call(model, lambda: model(ids()))


@dataclass
class Answer:
    attention: list[Tensor]
    logits: Tensor


OUTPUTS: dict[str, tuple[Callable[[Tensor], Any], str]] = {
    "dataclass": (lambda z: Answer([z], z), ""),
    "mapping": (lambda z: {"attention": [z], "logits": z}, ""),
    "tuple": (lambda z: (z, [z]), ""),
    "probabilities": (lambda z: z.softmax(-1), ""),
    "another name": (lambda z: {"prediction": z}, ""),
    "a loss first": (lambda z: (z.sum(), z), ""),
    "two outputs": (lambda z: {"prediction": z, "other": 2 * z}, "output='prediction'"),
    "weights first": (lambda z: (z[:, None], z), "classes"),
    "text": (lambda z: "positive", "got str"),
}


def encode(text: str) -> list[int]:
    return [4 + len(word) for word in text.split()]


@pytest.mark.parametrize("kind", OUTPUTS)
def test_what_a_module_may_give_out(kind: str) -> None:
    class Giving(Odd):
        def forward(self, ids: Tensor) -> Any:
            return OUTPUTS[kind][0](super().forward(ids))

    plain = regard.wrap(alive(Odd(memory)), encode, labels=["a", "b", "c"])
    model = regard.wrap(alive(Giving(memory)), encode, labels=["a", "b", "c"])
    text = "an odd but honest little model"
    if OUTPUTS[kind][1]:
        with pytest.raises(InputError, match=OUTPUTS[kind][1]):
            regard.capture(model, text)
        return
    truth, found = regard.capture(plain, text), regard.capture(model, text)
    np.testing.assert_allclose(found.answers.value, truth.answers.value, atol=1e-5)
    np.testing.assert_allclose(found.answers.probability, truth.answers.probability, atol=1e-6)


@pytest.mark.parametrize("way", [memory, learned_rows])
def test_all_rows_are_read_where_queries_are_not_positions(way: Way) -> None:
    module = alive(Odd(way))
    said = regard.explain(regard.wrap(module, encode), "an odd but honest little model", ("attention",))
    last = regard.capture(regard.wrap(module, encode), "an odd but honest little model").sites[-1].dense().weights
    np.testing.assert_allclose(said.relevance["attention"][0], last[0].mean((0, 1)), atol=1e-6)


def test_gradients_of_a_module_without_a_graph_are_refused() -> None:
    class Closed(Odd):
        def forward(self, ids: Tensor) -> Any:
            with torch.no_grad():
                return super().forward(ids)

    model = alive(Closed(memory))
    with pytest.raises(Unsupported, match="no_grad"):
        attention_gradients(model, lambda: model(ids()), lambda o: o.sum(), kind="in_graph")
    with pytest.raises(Unsupported, match="no_grad"):
        regard.explain(regard.wrap(model, encode), "a closed little model", ("input_x_gradient",))


@pytest.mark.parametrize(
    ("given", "names", "told"),
    [
        ([["a"]], "ab", "array of str"),
        ([[[0.5, 0.5], [1.0]]], "ab", "unequal"),
        ([np.eye(2) + 0j], "ab", "complex"),
        ([np.zeros((2, 2))], "ab", "zeros"),
        ([np.eye(3)], "ab", "3 names"),
    ],
)
def test_arrays_that_are_no_attention(given: Any, names: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        from_arrays(given, list(names))


def test_attention_by_name_without_a_site_is_told_beside_the_others() -> None:
    class HandAttention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.q, self.k = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

        def forward(self, x: Tensor) -> Tensor:
            e = (self.q(x) @ self.k(x).mT / 2).exp()
            return e / e.sum(-1, keepdim=True) @ x

    class Two(Odd):
        def __init__(self) -> None:
            super().__init__(memory)
            self.mixer = HandAttention()

        def forward(self, ids: Tensor) -> Any:
            return self.out(memory(self, self.mixer(self.embedding(ids))))

    model = alive(Two())
    with torch.no_grad():
        _, taps = capture_call(model, lambda: model(ids()))
    assert len(taps.sites) == 3
    assert [place for place, _ in taps.rejected] == ["mixer"]
    register_site(model.mixer, lambda inputs, output: output.softmax(1))
    with pytest.raises(CaptureError, match="sum to 1"):
        capture_call(model, lambda: model(ids()), check="always")


def test_a_live_adapter_and_a_tokenizer_as_encode() -> None:
    peft = pytest.importorskip("peft")
    from regard.testing.architectures import find

    bert = find("BERT").build()
    adapted = peft.get_peft_model(bert, peft.LoraConfig(r=2, target_modules=["query"], init_lora_weights=False)).eval()
    given = find("BERT").inputs()
    with torch.no_grad():
        _, taps = capture_call(adapted, lambda: adapted(**given))
    assert [s.site.kind for s in taps.sites] == ["self"] * len(taps.sites)
    model = regard.wrap(alive(Odd(memory)), lambda text: {"input_ids": encode(text)})
    assert regard.capture(model, "a good film").sites[0].shape == (1, 1, 1, 3)
    with pytest.raises(InputError, match="token ids"):
        regard.capture(regard.wrap(alive(Odd(memory)), lambda text: text.split()), "a good film")
