"""Rows of long inputs: the model's own outputs, the weights of eager attention, little memory."""

from __future__ import annotations

import copy
import inspect
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from regard.errors import CaptureError, InputError, Unsupported
from regard.tap.capture_call import capture_call
from regard.tap.row_attention import Keys
from regard.tap.row_capture import capture_rows
from regard.tap.row_collector import RowCollector
from regard.testing.architectures import find

DECODERS = ["GPT-2", "OPT", "Llama", "Qwen3", "Mistral", "Gemma2", "Gemma3", "gpt-oss", "DeepSeek-V3"]
"""Grouped keys, softcap, sinks, latent keys, sliding windows alone and beside full layers."""


def same(one: Any, other: Any) -> bool:
    pairs = [(a, other[name]) for name, a in one.items() if isinstance(a, Tensor)]
    return bool(pairs) and all(torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("name", [*DECODERS, "ALBERT", "T5", "BART", "Qwen2-VL"])
def test_every_row_equals_the_full_capture_and_outputs_are_bit_equal(name: str) -> None:
    row = find(name)
    model, inputs = row.build(), row.inputs()
    with torch.inference_mode():
        plain = model(**inputs)
        out, taps = capture_rows(model, lambda: model(**inputs), slice(None), check="always")
        _, full = capture_call(model, lambda: model(**inputs))
    assert same(plain, out)
    expected = {site.site.key: site for site in full.sites}
    assert [site.site.key for site in taps.sites] == list(expected)
    for site in taps.sites:
        other = expected[site.site.key]
        assert (site.site.kind, site.site.layer, site.shape) == (other.site.kind, other.site.layer, other.shape)
        weights = other.dense().weights
        rows = np.stack([site.rows(b, range(site.queries)) for b in range(site.shape[0])])
        real = np.broadcast_to(weights.sum(-1, keepdims=True) > 0, weights.shape)
        np.testing.assert_allclose(rows[real], weights[real], atol=1e-5)


@pytest.mark.parametrize("cache", ["dynamic", "static", "none"])
@pytest.mark.parametrize("name", DECODERS)
def test_rows_of_a_generation_equal_eager_attention_over_the_finished_text(name: str, cache: str) -> None:
    model: Any = find(name).build()
    ids = torch.randint(10, 99, (2, 14), generator=torch.Generator().manual_seed(3))
    mask = torch.ones_like(ids)
    mask[1, :3] = 0
    options: dict[str, Any] = {"max_new_tokens": 5, "do_sample": False, "pad_token_id": 1, "eos_token_id": None}
    options |= {"static": {"cache_implementation": "static"}, "none": {"use_cache": False}}.get(cache, {})
    with torch.inference_mode():
        plain = model.generate(input_ids=ids, attention_mask=mask, **options)
        out, taps = capture_rows(
            model, lambda: model.generate(input_ids=ids, attention_mask=mask, **options), "new", check="always"
        )
        model.generate(input_ids=ids.flip(1), attention_mask=mask, **options)  # writes over a static cache
        eager = copy.deepcopy(model)
        eager.set_attn_implementation("eager")
        whole = torch.cat([mask, torch.ones(2, 4, dtype=torch.long)], 1)
        places = {"position_ids": (whole.cumsum(1) - 1).clamp(min=0)}
        places = places if "position_ids" in inspect.signature(eager.forward).parameters else {}
        expected = eager(input_ids=out[:, :-1], attention_mask=whole, output_attentions=True, **places).attentions
    assert torch.equal(plain, out)
    for site, weights in zip(taps.sites, expected, strict=True):
        assert site.positions == list(range(13, 18))
        rows = np.stack([site.rows(b, range(13, 18)) for b in range(2)])
        np.testing.assert_allclose(rows, weights[:, :, 13:].numpy()[..., : rows.shape[-1]], atol=1e-5)


def test_memory_of_rows_does_not_grow_with_the_prompt() -> None:
    model: Any = find("Llama").build()
    held = []
    for length in (16, 32):
        ids = torch.randint(10, 99, (1, length))
        with torch.inference_mode():
            _, taps = capture_rows(model, lambda ids=ids: model(ids), "last")
        held.append(taps.held_bytes)
        part = taps.sites[0].parts[0]
        assert part.query.untyped_storage().nbytes() == part.query.numel() * part.query.element_size()  # no view
    assert held[0] == held[1]


def test_a_window_keeps_only_the_keys_that_wanted_rows_can_see() -> None:
    model: Any = find("Mistral").build()  # windows of 4
    ids = torch.randint(10, 99, (1, 30))
    with torch.inference_mode():
        _, taps = capture_rows(model, lambda: model(ids), "last")
    for site in taps.sites:
        assert sum(keys.shape[2] for _, keys in site.keys.pieces) == 4
        weights = site.rows(0, [-1])
        assert not weights[..., :26].any()
        np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)


def test_keys_are_found_by_position_across_pieces() -> None:
    numbers = torch.arange(10.0).reshape(1, 1, 10, 1)
    keys = Keys()
    keys.copy(2, numbers[:, :, 2:6])
    keys.copy(4, numbers[:, :, 4:8])
    assert [start for start, _ in keys.pieces] == [2, 6]
    assert keys.between(3, 8).flatten().tolist() == [3, 4, 5, 6, 7]


def test_other_rows_are_refused_and_named() -> None:
    model: Any = find("Llama").build()
    ids = torch.randint(10, 99, (1, 12))
    with torch.inference_mode():
        _, taps = capture_rows(model, lambda: model(ids), [3, -1])
    site = taps.sites[0]
    assert site.positions == [3, 11]
    assert site.rows(0, [3, -1], heads=[1]).shape == (1, 2, 12)
    with pytest.raises(InputError):
        site.rows(0, [4])
    with pytest.raises(Unsupported):
        site.dense()
    with pytest.raises(InputError):
        capture_rows(model, lambda: model(ids), [])
    with pytest.raises(InputError):
        capture_rows(model, lambda: model(ids), [40])


def test_models_outside_the_registry_and_beams_are_refused() -> None:
    falcon: Any = find("Falcon").build()
    with pytest.raises(Unsupported):
        capture_rows(falcon, lambda: falcon(**find("Falcon").inputs()), "last")
    swin: Any = find("Swin").build()
    with pytest.raises(Unsupported):
        capture_rows(swin, lambda: swin(**find("Swin").inputs()), "last")
    llama: Any = find("Llama").build()
    ids = torch.randint(10, 99, (1, 9), generator=torch.Generator().manual_seed(1))
    options = {"max_new_tokens": 6, "num_beams": 3, "do_sample": False, "pad_token_id": 1, "eos_token_id": None}
    with torch.inference_mode(), pytest.raises(CaptureError):
        capture_rows(llama, lambda: llama.generate(ids, **options), "new")
    assert llama.config._attn_implementation == "sdpa"


def test_attention_that_bypasses_the_registry_is_listed() -> None:
    row = find("SigLIP")
    model, inputs = row.build(), row.inputs()
    with torch.inference_mode():
        _, taps = capture_rows(model, lambda: model(**inputs), "last")
    assert "vision_model.head.attention" in [name for name, _ in taps.rejected]


def test_a_wrong_row_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    model: Any = find("Llama").build()
    ids = torch.randint(10, 99, (1, 12))
    monkeypatch.setattr(RowCollector, "_mask_rows", lambda *_, **__: torch.zeros(1, 1, 1, 12).bool() | True)
    with torch.inference_mode(), pytest.raises(CaptureError):
        capture_rows(model, lambda: model(ids), [3])
