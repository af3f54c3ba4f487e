"""Attention taken apart: values behind W_O, residual stream, normalisations, and gradients of weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from regard.errors import Unsupported
from regard.measures.contributions import part_norms
from regard.models.ask.decomposition import decomposition
from regard.models.ask.layer_variants import LayerVariants
from regard.models.ask.value_zeroing import value_zeroing
from regard.models.ask.weight_slopes import weight_slopes
from regard.models.read.encoded import Item
from regard.protocols import Parts
from regard.tap.attention_gradients import call_with_weights
from regard.tap.capture_call import capture_call
from regard.testing.architectures import find


class Bare:
    """A bare module with one example, as the adapter shows it."""

    def __init__(self, name: str) -> None:
        row = find(name)
        self.name, self.module = name, row.build()
        self.inputs = {
            k: v[:1] if isinstance(v, Tensor) and v.ndim and len(v) == 2 else v for k, v in row.inputs().items()
        }
        if "image_grid_thw" in self.inputs:  # the patches of all pictures stand one after the other
            self.inputs["pixel_values"] = self.inputs["pixel_values"][: int(self.inputs["image_grid_thw"][0].prod())]

    def tensors(self, items: Any, targets: Any) -> tuple[dict[str, Any], Any]:
        k = len(items)
        return {
            n: v.repeat(k, *[1] * (v.ndim - 1)) if isinstance(v, Tensor) else v for n, v in self.inputs.items()
        }, None

    def run(self, tensors: Any, asked: Any) -> Any:
        return self.module(**tensors)

    def call(self) -> Any:
        return self.module(**self.inputs)

    def taken(self) -> list[Parts]:
        with torch.no_grad():
            _, taps = capture_call(self.module, self.call)
        return decomposition(self, ITEM, None, [s.site.key for s in taps.sites])  # type: ignore[arg-type]


ITEM: Any = Item(None, {}, np.zeros(0, np.int64), 9)  # type: ignore[arg-type]
for ability in (decomposition, value_zeroing, weight_slopes):
    ability.register(Bare, ability.__wrapped__)

STREAMS = {
    # name: (sites, normalisations behind each)
    "BERT": (2, 2), "DistilBERT": (2, 2), "ALBERT": (2, 2), "DeBERTa-v2": (2, 2), "XLNet": (2, 2), "MPNet": (2, 2),
    "ModernBERT": (2, 0), "GPT-2": (2, 0), "Llama": (2, 0), "Qwen3": (2, 0), "GPT-J": (2, 0), "GPT-NeoX": (2, 0),
    "Falcon": (2, 0), "BLOOM": (2, 0), "OPT": (2, 0), "gpt-oss": (2, 0), "ViT": (2, 0), "CLIP": (4, 0), "T5": (6, 0),
    "WavLM": (2, 2),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:Support for mismatched key_padding_mask")
@pytest.mark.parametrize("name", STREAMS)
def test_parts_sum_to_the_whole_on_every_way_to_write_attention(name: str) -> None:
    sites, norms = STREAMS[name]
    taken = Bare(name).taken()
    assert len(taken) == sites
    for p in taken:
        made = np.einsum("hqk,hkd->qd", p.weights, p.values) + p.own + p.bias
        np.testing.assert_allclose(made, p.whole, atol=2e-4 * np.abs(p.whole).max())
        assert p.error < 1e-5
        assert len(p.norms) == norms
        assert p.own.any(), "there is a residual stream"


def test_behind_the_normalisations_of_bart_the_parts_are_what_its_layers_give_out() -> None:
    bare = Bare("BART")
    seen: dict[str, Tensor] = {}
    layer = bare.module.encoder.layers[0]  # type: ignore[union-attr,index]
    layer.self_attn_layer_norm.register_forward_hook(lambda m, a, out: seen.update(norm=out[0]))
    p = next(p for p in bare.taken() if p.site.name == "encoder.layers.0.self_attn")
    bare.call()
    norm = p.norms[0]
    assert norm.centred
    np.testing.assert_allclose(norm.scale, layer.self_attn_layer_norm.weight.detach(), atol=1e-4)
    np.testing.assert_allclose(norm.shift, layer.self_attn_layer_norm.bias.detach(), atol=1e-6)
    centred = p.whole - p.whole.mean(-1, keepdims=True)
    out = norm.scale * centred / norm.spread[:, None] + norm.shift
    np.testing.assert_allclose(out, seen["norm"].detach().numpy(), atol=1e-4)


def test_values_are_those_written_out_for_bert() -> None:
    bare = Bare("BERT")
    layer = bare.module.encoder.layer[1]  # type: ignore[union-attr,index]
    inner, outer = layer.attention.self, layer.attention.output.dense
    given: list[Tensor] = []
    layer.register_forward_pre_hook(lambda m, args: given.append(args[0]))
    p = bare.taken()[1]
    x = given[-1][:1].clone()
    with torch.no_grad():
        value = inner.value(x)[0]
    heads = len(p.weights)
    width = value.shape[-1] // heads
    for h in range(heads):
        some = slice(h * width, (h + 1) * width)
        want = value[:, some] @ outer.weight.detach()[:, some].T
        np.testing.assert_allclose(p.values[h], want, atol=1e-5)
    np.testing.assert_allclose(p.own, x[0], atol=1e-5)
    np.testing.assert_allclose(p.bias, outer.bias.detach(), atol=1e-5)


def test_grouped_heads_share_values_but_not_projections() -> None:
    bare = Bare("Llama")
    attention = bare.module.model.layers[0].self_attn  # type: ignore[union-attr,index]
    given: list[Tensor] = []
    attention.register_forward_pre_hook(lambda m, a, k: given.append(k["hidden_states"]), with_kwargs=True)
    p = bare.taken()[0]
    with torch.no_grad():
        value = attention.v_proj(given[-1][:1].clone())[0]
    heads, width = len(p.weights), attention.head_dim
    group = heads * width // value.shape[-1]
    assert group > 1
    for h in range(heads):
        mine = value[:, (h // group) * width : (h // group + 1) * width]
        want = mine @ attention.o_proj.weight.detach()[:, h * width : (h + 1) * width].T
        np.testing.assert_allclose(p.values[h], want, atol=1e-5)


def test_cross_attention_in_two_directions_is_taken_apart_behind_its_projection() -> None:
    """LXMERT: one module reads words for regions and regions for words, then each side reads itself."""
    bare = Bare("LXMERT")
    layer = bare.module.encoder.x_layers[0]  # type: ignore[union-attr,index]
    modules = {
        "visual_attention.att": (layer.visual_attention.att, layer.visual_attention.output),
        "lang_self_att.self": (layer.lang_self_att.self, layer.lang_self_att.output),
        "visn_self_att.self": (layer.visn_self_att.self, layer.visn_self_att.output),
    }
    taken = {p.site.key.partition("x_layers.0.")[2]: p for p in bare.taken() if "x_layers" in p.site.key}
    assert sorted(taken) == sorted([*modules, "visual_attention.att#1"])
    seen: dict[str, list[Tensor]] = {}
    for name, (inner, outer) in modules.items():
        inner.value.register_forward_hook(lambda m, a, out, name=name: seen.setdefault(name, []).append(out[0]))
        outer.register_forward_pre_hook(lambda m, a, name=name: seen.setdefault(f"{name} stream", []).append(a[1][0]))
    with torch.no_grad():
        bare.call()
    for key, p in taken.items():
        name, _, call = key.partition("#")
        value, stream = (seen[k][int(call or 0)] for k in (name, f"{name} stream"))
        dense, norm = modules[name][1].dense, modules[name][1].LayerNorm
        width = value.shape[-1] // len(p.weights)
        for h in range(len(p.weights)):
            some = slice(h * width, (h + 1) * width)
            np.testing.assert_allclose(p.values[h], value[:, some] @ dense.weight.detach()[:, some].T, atol=1e-5)
        np.testing.assert_allclose(p.own, stream, atol=1e-5)
        np.testing.assert_allclose(p.bias, dense.bias.detach(), atol=1e-5)
        assert len(p.norms) == 1
        np.testing.assert_allclose(p.norms[0].scale, norm.weight.detach(), atol=1e-4)
        # norms of the parts, from the n x n x d tensor written out
        parts_of = np.einsum("hqk,hkd->qkd", p.weights, p.values)
        np.testing.assert_allclose(part_norms(p.weights, p.values), np.linalg.norm(parts_of, axis=-1), rtol=1e-4)


def test_a_layer_without_a_batch_axis_is_asked_one_variant_at_a_time() -> None:
    """The vision layers of Qwen2-VL are called once per picture."""
    bare = Bare("Qwen2-VL")
    attention = bare.module.model.visual.blocks[0].attn  # type: ignore[union-attr,index]
    given: list[Tensor] = []
    attention.register_forward_pre_hook(lambda m, a, k: given.append((*a, *k.values())[0]), with_kwargs=True)
    taken = bare.taken()
    assert [p.site.kind for p in taken] == ["self", "self", "causal", "causal"]
    assert all(p.error < 1e-5 and p.own.any() for p in taken)
    p = taken[0]
    with torch.no_grad():
        value = attention.qkv(given[0].clone())[:, -given[0].shape[-1] :]
    width = value.shape[-1] // len(p.weights)
    for h in range(len(p.weights)):
        some = slice(h * width, (h + 1) * width)
        np.testing.assert_allclose(p.values[h], value[:, some] @ attention.proj.weight.detach()[:, some].T, atol=1e-5)


def test_a_projection_outside_the_module_of_attention_is_counted() -> None:
    """The first attention of Perceiver stands in no list of layers, and its projection in another module."""
    bare = Bare("Perceiver")
    attention = bare.module.perceiver.encoder.cross_attention.attention  # type: ignore[union-attr]
    seen: list[Tensor] = []
    attention.self.value.register_forward_hook(lambda m, a, out: seen.append(out[0].detach()))
    p = bare.taken()[0]
    assert p.site.kind == "cross"
    dense, value = attention.output.dense, seen[0]
    width = value.shape[-1] // len(p.weights)
    for h in range(len(p.weights)):
        some = slice(h * width, (h + 1) * width)
        np.testing.assert_allclose(p.values[h], value[:, some] @ dense.weight.detach()[:, some].T, atol=1e-5)


def test_cross_attention_has_one_value_per_source_position() -> None:
    crosses = [p for p in Bare("BART").taken() if p.site.kind == "cross"]
    assert crosses
    for p in crosses:
        assert p.values.shape[1] == p.weights.shape[2] != p.weights.shape[1]
        assert len(p.norms) == 2


@pytest.mark.parametrize(("name", "why"), [("Longformer", "miss the whole"), ("SqueezeBERT", "positions behind it")])
def test_what_cannot_be_taken_apart_is_refused_with_the_reason(name: str, why: str) -> None:
    with pytest.raises(Unsupported, match=why):
        Bare(name).taken()


@pytest.mark.parametrize("name", ["Gemma2", "OLMo2"])
def test_a_normalised_output_has_no_residual_yet(name: str) -> None:
    for p in Bare(name).taken():
        assert not p.own.any()
        assert p.norms == ()


@pytest.mark.parametrize(("name", "layers"), [("BERT", "encoder.layer"), ("GPT-2", "transformer.h")])
def test_value_zeroing_is_a_loop_over_zeroed_values(name: str, layers: str) -> None:
    bare = Bare(name)
    with torch.no_grad():
        _, taps = capture_call(bare.module, bare.call)
    site = taps.sites[1].site
    (got,) = value_zeroing(bare, ITEM, None, [site.key])  # type: ignore[arg-type]
    layer = bare.module.get_submodule(f"{layers}.1")
    outs: list[Tensor] = []
    layer.register_forward_hook(lambda m, a, out: outs.append((out[0] if isinstance(out, tuple) else out)[0].detach()))
    value = bare.module.get_submodule(f"{site.name}.value") if name == "BERT" else None
    fused = bare.module.get_submodule(f"{site.name}.c_attn") if name == "GPT-2" else None
    bare.call()
    for j in (0, 3):

        def zero(m: Any, a: Any, out: Tensor, j: int = j) -> Tensor:
            out = out.clone()
            if value is not None:
                out[:, j] = 0
            else:
                out[:, j, 2 * out.shape[-1] // 3 :] = 0
            return out

        hook = (value or fused).register_forward_hook(zero)  # type: ignore[union-attr]
        bare.call()
        hook.remove()
        want = 1 - torch.cosine_similarity(outs[-1].double(), outs[0].double(), dim=-1)
        np.testing.assert_allclose(got.distance[:, j], want.clamp(min=0), atol=1e-6)
    assert got.error < 1e-5


class _Row:
    """An objective: one entry of the first output."""

    def read(self, outputs: Any, asked: Any, targets: Any) -> Any:
        class Said:
            value = outputs.last_hidden_state[:, 0].square().sum(-1)

        return Said()


def test_gradients_of_weights_are_finite_differences() -> None:
    bare = Bare("BERT")
    bare.module.double()
    bare.row = _Row()  # type: ignore[attr-defined]
    bare.backward_allowed = torch.enable_grad  # type: ignore[attr-defined]
    (slopes,) = weight_slopes(bare, [ITEM], [None], "frozen")  # type: ignore[arg-type]
    base = {s.site.key: torch.from_numpy(np.array(s.weights, np.float64))[None] for s in slopes}
    for s in slopes:
        h, q, k = np.unravel_index(np.argmax(np.abs(s.gradient)), s.gradient.shape)

        def at(step: float, key: str = s.site.key, h: Any = h, q: Any = q, k: Any = k) -> float:
            moved = {n: w.clone() for n, w in base.items()}
            moved[key][0, h, q, k] += step
            with torch.no_grad():
                out = call_with_weights(bare.module, bare.call, moved)
            return float(out.last_hidden_state[0, 0].square().sum())

        assert (at(1e-4) - at(-1e-4)) / 2e-4 == pytest.approx(float(s.gradient[h, q, k]), rel=1e-3)
    (again,) = weight_slopes(bare, [ITEM], [None], "in_graph")  # type: ignore[arg-type]
    np.testing.assert_allclose(again[-1].gradient, slopes[-1].gradient, rtol=1e-3, atol=1e-5)
    assert not np.allclose(again[0].gradient, slopes[0].gradient, rtol=1e-2)


def test_the_layer_around_a_site_holds_no_second_one() -> None:
    layers = LayerVariants(Bare("T5"), ITEM, None)  # type: ignore[arg-type]
    names = {m: n for n, m in layers.model.module.named_modules()}
    blocks = {s.name: names[layers.block(s)] for s in layers.sites}  # type: ignore[index]
    assert blocks["encoder.block.0.layer.0.SelfAttention"] == "encoder.block.0"
    assert blocks["decoder.block.1.layer.1.EncDecAttention"] == "decoder.block.1"
