"""The tap on plain torch modules: every way of writing attention is found, exactly, and nothing else is."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from attention_zoo import HEADS, WIDTH, Additive, Layer, Mixture, SparseAttention, Written, alive, inputs
from torch import Tensor, nn

from regard.errors import CaptureError
from regard.records import UNCHECKED, Message
from regard.tap import recorder as recorder_room
from regard.tap.capture_call import capture_call
from regard.tap.capture_plan import forget, plan_of
from regard.tap.declared_sites import register_site
from regard.tap.site_attention import LazyAttention

WAYS = ["sdpa", "operator", "module", "einsum", "bmm", "baddbmm"]
ADDITIVE = ["multiply and sum", "unsqueeze", "context", "bmm", "bmm of values", "einsum"]


@pytest.mark.parametrize("mode", ["qk", "weights"])
@pytest.mark.parametrize("way", WAYS)
def test_written_attention_is_found_exactly(way: str, mode: Any) -> None:
    model, x = alive(Written(way)), inputs()
    real = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 1, 1, 1, 0]]).bool()
    with torch.no_grad():
        plain = model(x, real)
        for _ in range(2):  # the full pass, then the light one
            out, taps = capture_call(model, lambda: model(x, real), mode=mode, key_padding=real)
            assert (out - plain).abs().max() < 1e-5
            assert [s.site.key for s in taps.sites] == ["layers.0", "layers.1"]
            assert [(s.site.kind, s.site.layer, s.site.heads) for s in taps.sites] == [
                ("self", i, HEADS) for i in (0, 1)
            ]
            assert taps.checked.params["proof"]["params"]["sites"] == 2
            assert len(taps.rejected) == 1
            assert "linear layer" in str(taps.rejected[0][1])
            state = x
            for layer, site in zip(model.layers, taps.sites, strict=True):
                expected = layer.weights(state, real).numpy() * real[:, None, :, None].numpy()
                np.testing.assert_allclose(site.dense().weights, expected, atol=1e-5)
                rows = site.rows(1, [2, 0], heads=[1])
                np.testing.assert_allclose(rows, expected[1, 1:, [2, 0]].swapaxes(0, 1), atol=1e-5)
                state = state + layer(state, real)


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("way", ADDITIVE)
def test_additive_attention_is_one_row_over_the_keys(way: str, batch: int) -> None:
    model, x = alive(Additive(way)), inputs(batch)
    with torch.no_grad():
        for given in (x, inputs(2, 7)):
            _, taps = capture_call(model, lambda given=given: model(given))
            (site,) = taps.sites
            assert site.shape == (given.shape[0], 1, 1, given.shape[1])
            assert site.site.kind == "pooling"
            np.testing.assert_allclose(site.dense().weights, model.weights(given).numpy(), atol=1e-5)


def test_heads_in_a_loop_are_calls_of_one_module() -> None:
    model, x = alive(Written("loop")), inputs()
    with torch.no_grad():
        _, taps = capture_call(model, lambda: model(x))
    assert [s.site.key for s in taps.sites] == ["layers.0", "layers.0#1", "layers.1", "layers.1#1"]
    np.testing.assert_allclose(
        taps["layers.0#1"].dense().weights[:, 0], model.layers[0].weights(x)[:, 1].detach(), atol=1e-5
    )


def test_routers_mixtures_and_outputs_are_rejected_with_a_reason() -> None:
    model, x = alive(Mixture()), inputs()
    with torch.no_grad():
        _, taps = capture_call(model, lambda: model(x))
    assert [s.site.key for s in taps.sites] == ["layer"]
    reasons = [str(reason) for _, reason in taps.rejected]
    assert len(reasons) == 3
    assert "linear layer" in reasons[0]
    assert "router" in reasons[1]
    assert "learned parameters" in reasons[2]


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("need_weights", [True, False])
def test_multi_head_attention(need_weights: bool, batch_first: bool) -> None:
    module = alive(nn.MultiheadAttention(WIDTH, HEADS, batch_first=batch_first))
    query, memory = inputs(2, 4), inputs(2, 6, seed=1)
    if not batch_first:
        query, memory = query.transpose(0, 1).contiguous(), memory.transpose(0, 1).contiguous()
    with torch.no_grad():
        _, truth = module(query, memory, memory, average_attn_weights=False)
        _, taps = capture_call(module, lambda: module(query, memory, memory, need_weights=need_weights))
    assert [(s.site.kind, s.shape) for s in taps.sites] == [("cross", (2, HEADS, 4, 6))]
    np.testing.assert_allclose(taps.sites[0].dense().weights, truth.numpy(), atol=1e-5)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_transformer_encoder_leaves_its_fast_path() -> None:
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 16, batch_first=True)
    model, x = alive(nn.TransformerEncoder(layer, 2)), inputs(2)
    padding = torch.tensor([[0, 0, 0, 0, 0], [0, 0, 0, 1, 1]]).bool()
    with torch.no_grad():
        plain = model(x, src_key_padding_mask=padding)
        out, taps = capture_call(model, lambda: model(x, src_key_padding_mask=padding))
    assert (out - plain)[~padding].abs().max() < 1e-5
    assert [s.site.key for s in taps.sites] == ["layers.0.self_attn", "layers.1.self_attn"]
    dense = taps.sites[0].dense().weights
    assert not dense[1, :, 3:].any()
    assert not dense[1, :, :, 3:].any()
    np.testing.assert_allclose(dense[1, :, :3].sum(-1), 1, atol=1e-5)


def test_transformer_decoder_has_causal_and_cross() -> None:
    layer = nn.TransformerDecoderLayer(WIDTH, HEADS, 16, batch_first=True)
    model, x, memory = alive(nn.TransformerDecoder(layer, 2)), inputs(2, 5), inputs(2, 5, seed=1)
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    with torch.no_grad():
        _, taps = capture_call(model, lambda: model(x, memory, tgt_mask=mask))
    # equal lengths do not fool it: the kind comes from where queries and keys were made
    assert [s.site.kind for s in taps.sites] == ["causal", "cross"] * 2
    assert [s.site.layer for s in taps.sites] == [0, 0, 1, 1]


def test_grouped_queries_masks_and_rows_of_sdpa() -> None:
    q, k, v = torch.randn(2, 4, 6, 8), torch.randn(2, 2, 6, 8), torch.randn(2, 2, 6, 8)
    mask = torch.ones(2, 1, 6, 6).tril().bool()
    mask[1, ..., :3] = False  # rows with nothing to attend to

    class Grouped(nn.Module):
        def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            return F.scaled_dot_product_attention(q, k, v, mask, enable_gqa=True, scale=0.3)

    model = Grouped()
    _, taps = capture_call(model, lambda: model(q, k, v))
    scores = (q @ k.repeat_interleave(2, 1).mT * 0.3).masked_fill(~mask, -torch.inf)
    expected = scores.softmax(-1).nan_to_num()
    expected[1, :, :3] = 0
    site = taps.sites[0]
    assert site.site.kind == "causal"
    np.testing.assert_allclose(site.dense().weights, expected.numpy(), atol=1e-5)
    np.testing.assert_allclose(site.rows(1, [5]), expected[1, :, [5]].numpy(), atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("causal", [True, False])
def test_log_sum_exp_is_the_same_without_the_fused_kernel(
    causal: bool, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    q, k, v = (torch.randn(2, 3, 33, 16, generator=torch.Generator().manual_seed(i)).to(dtype) for i in range(3))

    class Causal(nn.Module):
        def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            return F.scaled_dot_product_attention(q, k, v, is_causal=causal)

    found = []
    for fused in (True, False):
        monkeypatch.setattr(recorder_room, "FUSED_LOG_SUM_EXP", fused)
        model = Causal()
        out, taps = capture_call(model, lambda model=model: model(q, k, v))
        (site,) = taps.sites
        assert isinstance(site, LazyAttention)
        assert (site.lse is not None) == fused
        found.append((out, site.row_log_sum_exp(), site.tile(1, 2, slice(5, 20), slice(3, 30)), site.dense().weights))
    tolerance = 1e-5 if dtype in (torch.float32, torch.float64) else 2e-2
    assert torch.equal(found[0][0], found[1][0])
    assert (found[0][1].float() - found[1][1].float()).abs().max() < tolerance
    for _, _, tile, dense in found:
        np.testing.assert_allclose(tile, dense[1, 2, 5:20, 3:30], atol=tolerance)
        np.testing.assert_allclose(dense.sum(-1), 1, atol=1e-3)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::torch.jit.TracerWarning", "ignore::FutureWarning")
def test_traced_modules_fail_loudly() -> None:
    model = torch.jit.trace(alive(Written("sdpa")), inputs())
    with pytest.raises(CaptureError, match=r"scaled_dot_product.*traced"):
        capture_call(model, lambda: model(inputs()))


@pytest.mark.parametrize("way", ["sdpa", "einsum"])
def test_exported_modules_call_overloads(way: str) -> None:
    model, x = alive(Written(way)), inputs()
    graph = torch.export.export(model, (x,)).module()
    with torch.no_grad():
        _, taps = capture_call(graph, lambda: graph(x))
    assert len(taps.sites) == 2
    np.testing.assert_allclose(taps.sites[0].dense().weights, model.layers[0].weights(x).detach(), atol=1e-5)


def test_flex_attention_is_a_site() -> None:
    flex = pytest.importorskip("torch.nn.attention.flex_attention")
    bias = torch.randn(HEADS, 5, 5)

    class Flexible(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            def score(s: Tensor, b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
                return s + bias[h, q, k]

            return flex.flex_attention(x, x, x, score_mod=score)

    model, x = Flexible(), torch.randn(2, HEADS, 5, 16)
    with torch.no_grad():
        _, taps = capture_call(model, lambda: model(x))
    expected = (x @ x.mT / 4 + bias).softmax(-1)
    np.testing.assert_allclose(taps.sites[0].dense().weights, expected.numpy(), atol=1e-5)


def test_no_attention_and_hidden_attention_are_errors() -> None:
    plain = nn.Sequential(nn.Linear(WIDTH, 3), nn.Softmax(-1))
    with pytest.raises(CaptureError, match="this model has no attention"):
        capture_call(plain, lambda: plain(inputs()))
    hidden = alive(SparseAttention())
    with pytest.raises(CaptureError, match=r"named like attention.*register_site"):
        capture_call(hidden, lambda: hidden(inputs()))


def test_registered_site() -> None:
    model, x = alive(SparseAttention()), inputs()
    register_site(model, lambda given, out: out[1])
    try:
        out, taps = capture_call(model, lambda: model(x))
        assert [(s.site.kind, s.shape) for s in taps.sites] == [("pooling", (3, 1, 1, 5))]
        np.testing.assert_allclose(taps.sites[0].dense().weights[:, 0, 0], out[1].detach(), atol=1e-5)
        register_site(model, lambda given, out: out[1] * 0.5)
        forget(model)
        with pytest.raises(CaptureError, match="rows that sum to 1"):
            capture_call(model, lambda: model(x))
    finally:
        register_site(model, None)


def test_self_check_finds_a_wrong_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    model, x = alive(Written("sdpa")), inputs()
    right = LazyAttention.weights

    def wrong(self: LazyAttention, example: int, rows: Tensor, heads: Tensor | None = None) -> Tensor:
        return right(self, example, rows, heads).flip(-1)

    monkeypatch.setattr(LazyAttention, "weights", wrong)
    with pytest.raises(CaptureError, match=r"self-check of layers\.0"):
        capture_call(model, lambda: model(x))
    monkeypatch.undo()
    _, taps = capture_call(model, lambda: model(x), check="never")
    assert taps.checked == UNCHECKED


def test_checks_happen_once_per_shape_class_or_always(monkeypatch: pytest.MonkeyPatch) -> None:
    from regard.tap import capture_call as room

    proved: list[int] = []
    prove = room.prove
    monkeypatch.setattr(room, "prove", lambda proofs: proved.append(len(proofs)) or prove(proofs))
    model = alive(Written("sdpa"))

    def go(x: Tensor, check: Any) -> Message:
        return capture_call(model, lambda: model(x), check=check)[1].checked

    with torch.no_grad():
        first = go(inputs(2, 5), "first")
        assert go(inputs(3, 6, seed=1), "first") == first  # the same class of shapes
        assert len(proved) == 1
        go(inputs(2, 30), "first")
        assert len(proved) == 2
        assert go(inputs(2, 5), "always").key == "check.always"
        assert len(proved) == 3


def test_a_changed_model_is_looked_at_anew() -> None:
    model, x = alive(Written("sdpa")), inputs()
    with torch.no_grad():
        capture_call(model, lambda: model(x))
        model.layers.append(alive(Layer("operator"), seed=5))
        _, taps = capture_call(model, lambda: model(x))
    assert [s.site.key for s in taps.sites] == ["layers.0", "layers.1", "layers.2"]


def test_nothing_is_left_behind() -> None:
    model, x = alive(Written("operator")), inputs()
    hooks = [len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules()]

    def broken() -> Tensor:
        model(x)
        raise ValueError("in the middle")

    for call in (lambda: model(x), broken):
        with contextlib.suppress(ValueError):
            out, _ = capture_call(model, call)
        assert not any(k.startswith("_regard") for k in (*x.__dict__, *out.__dict__))
        assert [len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules()] == hooks
    assert plan_of(model, switched=False) is not None


def test_gradients_flow_through_a_captured_pass() -> None:
    for way in ("sdpa", "operator"):
        model, x = alive(Written(way)), inputs().requires_grad_()
        (plain,) = torch.autograd.grad(model(x)[:, 0].sum(), x)
        for mode in ("qk", "weights"):
            out, _ = capture_call(model, lambda model=model, x=x: model(x), mode=mode)
            (through,) = torch.autograd.grad(out[:, 0].sum(), x)
            assert (through - plain).abs().max() < 1e-5


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_compiled_modules_run_as_written() -> None:
    model = alive(Written("operator"))
    compiled: Callable[..., Any] = torch.compile(model)
    with torch.no_grad():
        _, taps = capture_call(compiled, lambda: compiled(inputs()))  # type: ignore[arg-type]
    assert len(taps.sites) == 2


@pytest.mark.parametrize("way", [*WAYS, *(w for w in ADDITIVE if w not in WAYS)])
def test_a_plan_made_with_one_example_serves_many(way: str) -> None:
    """Axes of size 1 tell nothing by themselves."""
    model = alive(Written(way) if way in WAYS else Additive(way))
    x = inputs(4, 6)
    with torch.no_grad():
        capture_call(model, lambda: model(inputs(1, 6)))
        _, many = capture_call(model, lambda: model(x))
        for i in range(4):
            _, one = capture_call(model, lambda i=i: model(x[i : i + 1]))
            for a, b in zip(many.sites, one.sites, strict=True):
                np.testing.assert_allclose(a.dense().weights[i], b.dense().weights[0], atol=1e-5)
