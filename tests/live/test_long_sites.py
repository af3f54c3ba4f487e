"""Sites of long inputs are pooled in chunks and cut into tiles on demand: the same bytes as from the whole matrix."""

from __future__ import annotations

import gzip
from typing import Any

import adapter_zoo as zoo
import numpy as np
import pytest
import torch

from regard.live.session import Session
from regard.models.open.load import load
from regard.present.pack import long_sites
from regard.present.pack.build import Shown, pack
from regard.present.pack.long_sites import pooled_attention, shown_attention
from regard.present.pack.weights import chunks_of, pooled, to_bytes
from regard.records import Attention, Example, Site, Units
from regard.tap.sdpa import SdpaCall, chunked
from regard.tap.site_attention import DenseAttention, LazyAttention, Real

N = 700
"""Three tiles in a row, and blocks of 5 and 6."""


def attention(*, causal: bool = True, real: Real | None = None) -> LazyAttention:
    stream = torch.Generator().manual_seed(1)
    query, key = torch.randn(1, 2, N, 8, generator=stream), torch.randn(1, 1, N, 8, generator=stream)
    call = SdpaCall(function=chunked, args=(), keywords={}, query=query, key=key, value=key, causal=causal)
    return LazyAttention(Site("a", 0, "causal" if causal else "self", 0, 2), call, real or Real())


def units() -> Units:
    return Units(
        names=tuple(f"w{i}" for i in range(N)),
        kind="token",
        place_kind="span",
        places=np.zeros((N, 2)),
        special=np.zeros(N, np.bool_),
        groups=np.arange(N),
        part=np.zeros(N, np.int64),
        keys=np.arange(N),
        shape=(N,),
    )


@pytest.fixture
def long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_sites, "LONG", 400 * 400)


def padded() -> Real:
    mask = torch.ones(1, N, dtype=torch.bool)
    mask[0, 650:] = False
    return Real(mask, mask)


@pytest.mark.parametrize("site", [attention(), attention(causal=False), attention(causal=False, real=padded())])
def test_maxima_equal_those_of_the_whole_matrix(site: LazyAttention) -> None:
    whole = site.dense().weights[0]
    expected = np.stack([pooled(head, 128, 128) for head in whole])  # type: ignore[arg-type]
    np.testing.assert_allclose(pooled_attention(site).maxima, expected, atol=1e-6)
    dense = DenseAttention(site.site, torch.from_numpy(whole.copy())[None], Real())
    np.testing.assert_allclose(pooled_attention(dense).maxima, expected, atol=1e-6)


@pytest.mark.usefixtures("long")
def test_a_live_host_computes_tiles_of_the_same_bytes() -> None:
    site = attention()
    shown = shown_attention(site)
    made = pack([Shown(id="a", units=units(), attentions=[shown])], lazy=True)
    entry = made.manifest.examples[0].sites[0]
    assert (entry.full, entry.pooled, entry.storage) == ([0, 1], [128, 128], "tiles")
    packed, tops, _ = to_bytes(site.dense().weights[0])
    assert entry.tops == pytest.approx(tops)
    names = 0
    for name, tile in chunks_of(packed, "0/0", "tiles", [0, 1]):
        stored: np.ndarray[Any, Any] = np.frombuffer(gzip.decompress(made.chunks[name]), np.uint8).reshape(tile.shape)
        assert int(np.abs(stored.astype(int) - tile.astype(int)).max()) <= 1  # a rounding of the last bit
        names += 1
    assert names == 2 * (9 + 4 + 1)


@pytest.mark.usefixtures("long")
def test_a_file_holds_pooled_heads_and_says_so() -> None:
    made = pack([Shown(id="a", units=units(), attentions=[shown_attention(attention())])])
    entry = made.manifest.examples[0].sites[0]
    assert entry.full == []
    assert len(made.manifest.left_out) == 1
    assert not [name for name in made.chunks if name.startswith("0/0/0")]


def test_a_long_text_costs_no_pass_per_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_sites, "LONG", 16)
    session = Session(load(zoo.gpt2(), processor=zoo.plain_tokenizer(), device="cpu"))
    text = Example("text", {"text": "the film was great and the film was bad"})
    session.show(text, ["attention", "leave_one_out"])
    manifest = session.packed(1 << 20).manifest
    assert [method.name for method in manifest.examples[0].methods] == ["attention"]
    assert len(manifest.notes) == 1
    session.show(text, ["leave_one_out:most=2"])
    assert [method.name for method in session.pack().manifest.examples[0].methods] == ["leave_one_out:most=2"]
    session.close()


def test_short_sites_stay_whole() -> None:
    assert isinstance(shown_attention(attention()), Attention)
