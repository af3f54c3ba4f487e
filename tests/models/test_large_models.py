"""Large models in small: weights in several files, spread over devices, in half precision, packed as GGUF."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM, LlamaForSequenceClassification, PreTrainedTokenizerFast

from regard.audits.explain import explain
from regard.audits.memory import announced_memory, batch_tokens
from regard.audits.options import AuditOptions
from regard.audits.scheduler import engine_of
from regard.errors import CaptureError, EnvironmentProblem, InputError, Unsupported
from regard.models.adapter import TorchModel
from regard.models.open import memory_plan as plans
from regard.models.open.load import load, rebuild
from regard.models.open.memory_plan import Shape, batch_positions, memory_plan
from regard.models.open.placement import Placement, placement, unpack_on_cpu
from regard.records import Example, Message
from regard.tap import self_check
from regard.tap.site_attention import LazyAttention

WORDS = ["[PAD]", "[UNK]", "a", "very", "good", "bad", "film", "not", "dull", "great"]
TEXT = "a very good film not dull"
SIZES: dict[str, Any] = {
    "vocab_size": len(WORDS), "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 3,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64, "initializer_range": 0.3,
}  # fmt: skip
SPREAD = {
    "model.embed_tokens": "cpu", "model.layers.0": "cpu", "model.layers.1": "disk", "model.layers.2": "disk",
    "model.norm": "disk", "model.rotary_emb": "cpu", "score": "cpu",
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Llama classifier in eight safetensors files."""
    place = tmp_path_factory.mktemp("llama")
    _tokenizer().save_pretrained(place)
    torch.manual_seed(0)
    module = LlamaForSequenceClassification(LlamaConfig(**SIZES, pad_token_id=0))
    module.save_pretrained(place, max_shard_size="20KB")
    assert len([*place.glob("model-*.safetensors")]) > 4
    return str(place)


@pytest.fixture(scope="module")
def whole(folder: str) -> TorchModel:
    return _opened(folder)


def _opened(source: str, **how: Any) -> TorchModel:
    model = load(source, **how)
    assert isinstance(model, TorchModel)
    return model


def _tokenizer() -> Any:
    words = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=words, pad_token="[PAD]", unk_token="[UNK]")


def test_modules_on_several_devices_give_the_numbers_of_one(folder: str, whole: TorchModel) -> None:
    spread = _opened(folder, device_map=SPREAD)
    assert {p.device.type for p in spread.module.parameters()} == {"cpu", "meta"}  # meta: on disk between passes
    assert spread.fingerprint == whole.fingerprint  # the weights on disk are part of it
    captures = []
    for model in (whole, spread):
        encoded = model.encode(Example("a", {"text": TEXT}))
        _, targets = model.predict([encoded])
        captures.append(model.capture([encoded], targets, check="first"))
    one, other = captures
    assert len(one.sites) == SIZES["num_hidden_layers"]
    for site, same in zip(one.sites, other.sites, strict=True):
        np.testing.assert_array_equal(site.dense().weights, same.dense().weights)
    # attention, an edit of attention, gradients, propagation, and weights that a method reads itself
    methods = ["attention", "knock_out", "integrated_gradients", "lrp", "value_norms", "leave_one_out"]
    results = [explain(model, TEXT, methods) for model in (whole, spread)]
    assert set(results[0].relevance) == set(methods) == set(results[1].relevance)
    for method in methods:
        np.testing.assert_array_equal(results[0].relevance[method].values, results[1].relevance[method].values)
    assert spread.spec is not None
    assert rebuild(spread.spec).fingerprint == whole.fingerprint  # a worker opens it the same way


@pytest.mark.parametrize(("dtype", "close"), [("bf16", 0.05), ("fp16", 0.01)])
def test_half_precision_is_close_and_its_captures_are_proved(
    folder: str, whole: TorchModel, dtype: str, close: float
) -> None:
    half = _opened(folder, dtype=dtype)
    tolerance = self_check._TOLERANCE[half.dtype]
    encoded = half.encode(Example("a", {"text": TEXT}))
    answers, targets = half.predict([encoded])
    captured = half.capture([encoded], targets, check="always")
    assert isinstance(captured.checked, Message)
    error = captured.checked.params["proof"]["params"]["error"]
    assert 1e-5 < error < tolerance
    full = whole.capture([whole.encode(Example("a", {"text": TEXT}))], targets)
    assert abs(answers.probability[0] - full.answers.probability[0]) < close
    for site, same in zip(captured.sites, full.sites, strict=True):
        weights = site.dense().weights
        assert np.abs(weights.sum(-1) - 1).max() < 1e-5  # in float32, whatever the model computes in
        assert np.abs(weights - same.dense().weights).max() < tolerance


def test_bf16_self_check_refuses_errors_beyond_its_tolerance(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    half = _opened(folder, dtype="bf16")
    encoded = half.encode(Example("a", {"text": TEXT}))
    _, targets = half.predict([encoded])
    right = LazyAttention.weights

    def capture_mixed(share: float) -> None:
        """Move a share of every row elsewhere: rows still sum to 1, the output of the site does not follow."""

        def wrong(self: LazyAttention, example: int, rows: torch.Tensor, heads: torch.Tensor | None = None) -> Any:
            weights = right(self, example, rows, heads)
            return (1 - share) * weights + share * weights.flip(-1)

        monkeypatch.setattr(LazyAttention, "weights", wrong)
        half.capture([encoded], targets, check="always")

    capture_mixed(0.001)  # less than the rounding of eight bits
    with pytest.raises(CaptureError, match="self-check"):
        capture_mixed(0.2)


def _gguf(folder: Path) -> tuple[Path, LlamaForCausalLM]:
    """A tiny Llama as GGUF, and the same in transformers. GGUF interleaves the halves of rotated queries and keys."""
    torch.manual_seed(0)
    module = LlamaForCausalLM(LlamaConfig(**SIZES, tie_word_embeddings=False)).eval()
    names = {
        "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
        "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
        "model.layers": "blk",
    }  # fmt: skip
    file = folder / "tiny.gguf"
    writer = gguf.GGUFWriter(file, "llama")
    writer.add_context_length(SIZES["max_position_embeddings"])
    writer.add_embedding_length(SIZES["hidden_size"])
    writer.add_block_count(SIZES["num_hidden_layers"])
    writer.add_feed_forward_length(SIZES["intermediate_size"])
    writer.add_head_count(SIZES["num_attention_heads"])
    writer.add_head_count_kv(SIZES["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(module.config.rms_norm_eps)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(len(WORDS))
    writer.add_tokenizer_model("llama")
    tokens = ["<unk>", "<s>", "</s>", "▁", "a", "▁a", "b", "▁b", "c", "▁c"]
    writer.add_token_list(tokens)
    writer.add_token_scores([-float(i) for i in range(len(tokens))])
    writer.add_token_types([gguf.TokenType.UNKNOWN, *[gguf.TokenType.CONTROL] * 2, *[gguf.TokenType.NORMAL] * 7])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    for name, tensor in module.state_dict().items():
        array = tensor.numpy()
        heads = {"q_proj": SIZES["num_attention_heads"], "k_proj": SIZES["num_key_value_heads"]}
        count = next((n for part, n in heads.items() if part in name), None)
        if count is not None:
            array = array.reshape(count, 2, array.shape[0] // count // 2, -1).swapaxes(1, 2).reshape(array.shape)
        for old, new in names.items():
            name = name.replace(old, new)
        writer.add_tensor(name, np.ascontiguousarray(array))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file, module


def test_gguf_file_gives_the_logits_of_its_weights(tmp_path: Path) -> None:
    file, module = _gguf(tmp_path)
    model = _opened(str(file))
    assert (model.task, model.name, model.dtype) == ("next_token", "tiny", torch.float32)
    ids = torch.tensor([[2, 3, 4, 5, 6]])
    with torch.inference_mode():
        torch.testing.assert_close(model.module(ids).logits, module(ids).logits)
    encoded = model.encode(Example("a", {"text": "a b c a"}))
    assert len(model.capture([encoded], model.predict([encoded])[1]).sites) == SIZES["num_hidden_layers"]
    assert _opened(str(file), dtype="bf16").dtype == torch.bfloat16


def test_missing_backends_and_unknown_maps_are_one_clear_line(folder: str) -> None:
    with pytest.raises(EnvironmentProblem, match="bitsandbytes"):
        load(folder, quantize="4bit")
    with pytest.raises(InputError, match="JSON object"):
        load(folder, device_map="everywhere")
    with pytest.raises(Unsupported, match="Hugging Face directory"):
        load("bilstm", device_map="auto")


class _Packed(nn.Module):
    """What a model loaded in 4 bits offers."""

    is_loaded_in_4bit = True

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(2, 2)

    def dequantize(self) -> nn.Module:
        return self.inner


def test_weights_of_4_bits_are_unpacked_on_a_cpu_only(folder: str) -> None:
    packed = _Packed()
    module, notes = unpack_on_cpu(packed)
    assert module is packed.inner
    assert [getattr(note, "key", note) for note in notes] == ["errors.models.weights_of_4_bits_unpacked"]
    elsewhere = _Packed().to("meta")
    assert unpack_on_cpu(elsewhere) == (elsewhere, [])
    full, four, eight = (memory_plan(folder, Placement(quantize=how)) for how in (None, "4bit", "8bit"))
    assert full is not None
    assert four is not None
    assert eight is not None
    on_cpu = not torch.accelerator.is_available()
    assert (four.weights == full.weights) is on_cpu
    assert eight.weights < full.weights


def test_memory_plan_counts_weights_activations_and_capture(folder: str, whole: TorchModel) -> None:
    plan = memory_plan(folder, Placement())
    assert plan is not None
    assert plan.weights == sum(p.numel() * 4 for p in whole.module.parameters())
    assert plan.length == 64
    encoded = whole.encode(Example("a", {"text": " ".join([TEXT] * 10)}))
    sites = whole.capture([encoded], whole.predict([encoded])[1]).sites
    shape = Shape(layers=3, hidden=32, heads=4, bytes=4)
    assert shape.capture(encoded.length) == sum(site.dense().weights.nbytes for site in sites)
    half = memory_plan(folder, placement("bf16"))
    assert half is not None
    assert 2 * half.weights == plan.weights
    assert 2 * half.activations == plan.activations
    assert memory_plan("bilstm", Placement()) is None


def test_activations_of_the_plan_bound_what_autograd_keeps(whole: TorchModel) -> None:
    kept: dict[int, int] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        if not isinstance(tensor, torch.nn.Parameter):
            kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    ids = torch.arange(2, 50)[None] % len(WORDS)
    embedded = whole.module.get_input_embeddings()(ids).requires_grad_()  # type: ignore[operator]
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        whole.module(inputs_embeds=embedded).logits.sum()
    bound = Shape(layers=3, hidden=32, heads=4, bytes=4).activations(48)
    assert 0.3 * bound < sum(kept.values()) < 1.5 * bound


def test_batches_come_from_the_architecture_and_workers_from_free_memory(
    folder: str, whole: TorchModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = memory_plan(folder, Placement())
    assert plan is not None
    said: list[Any] = []
    monkeypatch.setattr(plans, "free_memory", lambda: int(3.5 * plan.worker))
    assert announced_memory(folder, AuditOptions(), said.append) == 3
    engine, _ = engine_of(whole, AuditOptions(workers=8), 1, said.append, most=3)
    assert engine.workers == 3  # type: ignore[attr-defined]
    assert [message.key for message in said] == ["memory.plan", "memory.fewer_workers"]
    monkeypatch.setattr(plans, "free_memory", lambda: plan.worker // 2)
    assert announced_memory(folder, AuditOptions(), said.append) == 1
    assert said[-1].key == "memory.too_large"
    assert batch_tokens(whole) == 8192  # whatever is free
    large = {"num_hidden_layers": 80, "hidden_size": 8192, "num_attention_heads": 64}
    assert (batch_positions(large, 4), batch_positions(large, 2)) == (256, 576)  # whole blocks of 64
