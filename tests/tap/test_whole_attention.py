"""Blocks, tiles and rows of one attention against the whole matrix, which only this file computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from regard.errors import InputError
from regard.measures.pyramid import coarser_maxima, coarser_sums, sampling_error
from regard.records import Site
from regard.tap.row_capture import capture_rows
from regard.tap.whole_attention import WholeAttention
from regard.testing.architectures import find

VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "window": {"window": 37},
    "softcap": {"softcap": 3.0},
    "sinks": {"sinks": torch.linspace(-1, 1, 4)},
}


def attention(positions: int, **options: Any) -> WholeAttention:
    """Four heads on two key heads."""
    stream = torch.Generator().manual_seed(positions)
    query, key = (torch.randn(heads, positions, 8, generator=stream) for heads in (4, 2))
    return WholeAttention(Site("a", 0, "causal", 0, 4), query, key, scale=0.8, **options)


def matrix(one: WholeAttention) -> Tensor:
    scores = one.query @ one.key.repeat_interleave(2, 0).transpose(1, 2) * one.scale
    if one.softcap:
        scores = torch.tanh(scores / one.softcap) * one.softcap
    place = torch.arange(one.positions)
    hidden = place[None] > place[:, None]
    if one.window:
        hidden |= place[None] <= place[:, None] - one.window
    scores = scores.masked_fill(hidden, -torch.inf)
    if one.sinks is None:
        return torch.softmax(scores, -1)
    sinks = one.sinks[:, None, None].expand(-1, one.positions, 1)
    return torch.softmax(torch.cat([scores, sinks], -1), -1)[..., :-1]


def pooled(weights: Tensor, block: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    heads, n, _ = weights.shape
    side = -(-n // block)
    whole = np.zeros((heads, side * block, side * block), np.float32)
    whole[:, :n, :n] = weights.numpy()
    cut = whole.reshape(heads, side, block, side, block)
    return cut.sum((2, 4)), cut.max((2, 4))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("positions", [1, 100, 300])
def test_blocks_tiles_and_rows_equal_the_matrix(positions: int, variant: str) -> None:
    one = attention(positions, **VARIANTS[variant])
    weights = matrix(one)
    for block in (1, 8, 64, 256):
        blocks = one.blocks(block)
        sums, maxima = pooled(weights, block)
        np.testing.assert_allclose(blocks.sums, sums, atol=1e-4)
        np.testing.assert_allclose(blocks.maxima, maxima, atol=1e-6)
    rows, columns = slice(positions // 3, None), slice(positions // 4, positions // 2 + 1)
    np.testing.assert_allclose(one.tile(3, rows, columns), weights[3, rows, columns], atol=1e-6)
    np.testing.assert_allclose(one.rows([0, positions - 1]), weights[:, [0, positions - 1]], atol=1e-6)


@pytest.mark.parametrize("positions", [1024, 1027])
def test_a_sampled_overview_states_its_error(positions: int) -> None:
    one = attention(positions)
    exact, sampled = one.blocks(64), one.blocks(64, every=8)
    assert sampled.deviation is not None
    error = float(np.abs(sampled.sums - exact.sums).sum() / exact.sums.sum())
    assert 0.5 < sampling_error(sampled.sums, sampled.deviation) / error < 2
    assert (sampled.maxima <= exact.maxima + 1e-6).all()
    np.testing.assert_allclose(sampled.sums.sum(-1), exact.sums.sum(-1), rtol=1e-3)


def test_a_needle_stays_visible_at_the_coarsest_level_of_maxima_only() -> None:
    one = attention(512)
    one.query[:, :, 7] = 0.0
    one.query[0, 400, 7], one.key[0, 130, 7] = 10.0, 10.0  # row 400 of head 0 looks at 130, no other row does
    blocks = one.blocks(8)
    sums, maxima = blocks.sums[0].astype(float), blocks.maxima[0].astype(float)
    for _ in range(4):  # 4 blocks of 128
        sums, maxima = coarser_sums(sums), coarser_maxima(maxima)
    assert maxima[3, 1] > 0.99
    assert sums[3, 1] / sums[3].sum() < 0.35  # no more than its share of the columns


def test_bad_blocks_are_refused() -> None:
    for options in ({"block": 3}, {"block": 4, "every": 8}, {"block": 8, "every": 3}):
        with pytest.raises(InputError):
            attention(20).blocks(**options)
    with pytest.raises(InputError):
        attention(20).tile(4, slice(None), slice(None))


@pytest.mark.parametrize("name", ["Llama", "Gemma2", "gpt-oss", "Mistral"])
def test_all_rows_of_a_model_equal_the_captured_rows(name: str) -> None:
    model: Any = find(name).build()
    ids = torch.randint(10, 99, (1, 30), generator=torch.Generator().manual_seed(2))
    with torch.inference_mode():
        _, taps = capture_rows(model, lambda: model(ids, use_cache=False), slice(None), whole=lambda site: True)
    assert [one.site for one in taps.whole] == [site.site for site in taps.sites]
    for one, site in zip(taps.whole, taps.sites, strict=True):
        expected = site.rows(0, range(30))
        np.testing.assert_allclose(one.rows(list(range(30))), expected, atol=1e-6)
        np.testing.assert_allclose(one.blocks(8).sums.sum((1, 2)), expected.sum((1, 2)), rtol=1e-4)


def test_the_maximum_shows_a_needle_at_the_coarsest_level_and_the_sum_does_not() -> None:
    """One row of 1,024 looks at one distant column with a weight above .9; every other weight there is small."""
    n, row, column = 1024, 900, 300
    stream = torch.Generator().manual_seed(3)
    query, key = (torch.randn(1, n, 8, generator=stream) * 0.3 for _ in range(2))
    cells = {}
    for planted in (False, True):
        if planted:
            key[0, column] = 0
            key[0, column, 0] = 6
            query[0, :, 0] = 0
            query[0, row, 0] = 6
        blocks = WholeAttention(Site("a", 0, "causal", 0, 1), query, key, scale=0.5).blocks(64)
        sums, maxima = blocks.sums, blocks.maxima
        while sums.shape[-1] > 2:
            sums, maxima = coarser_sums(sums), coarser_maxima(maxima)
        cells[planted] = float(sums[0, 1, 0]) / float(sums[0, 1].sum()), float(maxima[0, 1, 0])
    assert cells[False][1] < 0.1 < 0.9 < cells[True][1]
    assert abs(cells[True][0] - cells[False][0]) < 0.01  # less than a hundredth of the mass
