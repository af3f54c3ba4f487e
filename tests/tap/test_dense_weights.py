"""Dense weights: written once, equal to the slow way; the model's own tensor is never changed."""

from __future__ import annotations

import gc
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from regard.records import Site
from regard.tap.dense_weights import BAND, fill_weights, fills
from regard.tap.reused_memory import reused_array
from regard.tap.sdpa import bind_sdpa, scores_of, weights_of
from regard.tap.site_attention import DenseAttention, LazyAttention, Real


@pytest.mark.parametrize(
    ("batch", "heads", "key_heads", "queries", "keys", "mask"),
    [
        (2, 4, 2, 30, 30, "causal"),
        (1, 3, 1, 600, 600, "causal"),
        (1, 2, 2, BAND + 1, 2100, "causal"),
        (1, 2, 2, 2100, BAND + 1, "causal"),
        (2, 2, 2, 600, 513, "bool"),
        (2, 2, 1, 600, 513, "additive"),
        (3, 2, 2, 9, 9, "blank row"),
        (1, 2, 2, 40, 7, "none"),
    ],
)
def test_filled_weights_equal_softmax_of_scores(
    batch: int, heads: int, key_heads: int, queries: int, keys: int, mask: str
) -> None:
    draw = torch.Generator().manual_seed(0)
    query = torch.randn(batch, heads, queries, 8, generator=draw)
    key, value = torch.randn(2, batch, key_heads, keys, 8, generator=draw)
    added = None
    if mask in ("bool", "blank row"):
        added = torch.rand(batch, 1, queries, keys, generator=draw) > 0.3
    if mask == "blank row":
        added[1, :, 3] = False
    if mask == "additive":
        added = torch.randn(1, 1, queries, keys, generator=draw)
    options = {"attn_mask": added, "is_causal": mask == "causal", "enable_gqa": True}
    call = bind_sdpa(F.scaled_dot_product_attention, (query, key, value), options)
    assert fills(call)
    out = torch.full((batch, heads, queries, keys), torch.nan)
    assert not fill_weights(call, out)
    assert torch.allclose(out, weights_of(call, scores_of(call)), atol=1e-7)
    query[0, -1, -1, 0] = torch.nan
    assert fill_weights(call, out), "a row of NaN is seen"


def test_memory_is_used_again_only_when_no_view_of_it_is_left() -> None:
    def address(array: np.ndarray) -> int:
        return int(array.__array_interface__["data"][0])

    shape = (1, 2, 30, 31)
    _, first = reused_array(shape)
    place, view = address(first), first[0, 1, 3:]
    tensor = torch.from_numpy(first)[0]
    del first
    gc.collect()
    _, other = reused_array(shape)
    assert address(other) != place, "a view and a tensor hold the first"
    del view
    _, another = reused_array(shape)
    assert address(another) != place
    del tensor
    gc.collect()
    _, again = reused_array(shape)
    assert address(again) == place


def test_captures_do_not_change_the_weights_of_earlier_ones() -> None:
    draw = torch.Generator().manual_seed(0)
    calls = []
    for _ in range(2):
        query, key, value = torch.randn(3, 1, 2, 40, 8, generator=draw)
        calls.append(bind_sdpa(F.scaled_dot_product_attention, (query, key, value), {"is_causal": True}))
    site = Site(name="a", call=0, kind="self", layer=0, heads=2, module="A")
    one = LazyAttention(site, calls[0], Real()).dense().weights
    copy = one.copy()
    for call in calls * 3:
        weights = LazyAttention(site, call, Real()).dense().weights
        assert np.allclose(weights, weights_of(call, scores_of(call)).numpy(), atol=1e-7)
    assert np.array_equal(one, copy)


@pytest.mark.parametrize("kind", ["filled", "in rows", "held"])
def test_weights_of_one_example_are_those_of_the_whole(kind: str) -> None:
    draw = torch.Generator().manual_seed(0)
    query, key, value = torch.randn(3, 3, 2, 9, 8, generator=draw)
    real = torch.arange(9)[None] < torch.tensor([9, 6, 7])[:, None]
    options = {"attn_mask": real[:, None, None].expand(3, 1, 9, 9)}
    call = bind_sdpa(F.scaled_dot_product_attention, (query, key, value), options)
    if kind == "in rows":
        call = replace(call, score_mod=lambda score, b, h, q, k: score * (1.0 + b))  # reads the number of the example
    site = Site(name="a", call=0, kind="self", layer=0, heads=2, module="A")
    positions = Real(real, real)
    attention: LazyAttention | DenseAttention = LazyAttention(site, call, positions)
    if kind == "held":
        attention = DenseAttention(site, weights_of(call, scores_of(call)), positions, sink=torch.rand(3, 2, 9))
    whole = attention.dense()
    for example in range(3):
        one = attention.dense_of(example)
        assert np.array_equal(one.weights[0], whole.weights[example])
        assert (one.sink is None) == (whole.sink is None)
        assert one.sink is None or np.array_equal(one.sink[0], np.asarray(whole.sink)[example])


def test_calls_in_other_types_are_not_filled() -> None:
    half = torch.zeros(1, 1, 4, 8, dtype=torch.bfloat16)
    assert not fills(bind_sdpa(F.scaled_dot_product_attention, (half, half, half), {}))


def test_padding_is_zeroed_in_a_copy_of_the_model_s_tensor() -> None:
    held = torch.full((1, 2, 3, 3), 1 / 3)
    real = torch.tensor([[True, True, False]])
    site = Site(name="a", call=0, kind="self", layer=0, heads=2, module="A")
    record = DenseAttention(site, held, Real(real, real)).dense()
    assert record.weights[0, :, 2].max() == record.weights[0, :, :, 2].max() == 0
    assert torch.equal(held, torch.full((1, 2, 3, 3), 1 / 3))
    whole = DenseAttention(site, held, Real()).dense()
    assert np.shares_memory(whole.weights, held.numpy())
    assert not whole.weights.flags.writeable
