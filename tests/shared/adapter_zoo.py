"""Tiny random models with tiny tokenizers, made in code: one for each task."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

WORDS = (
    "the", "film", "was", "great", "fun", "boring", "a", "dull", "plot", "but", "not", "bad", "who", "wrote", "it",
    "rain", "falls", "in", "spain", "very", "long", "story",
)  # fmt: skip
PIECES = ["##ly", "##ing", "!", ".", "?", "自", "然", "语", "言", "cafe", "i"]


@cache
def bert_tokenizer() -> Any:
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    return transformers.BertTokenizer(
        vocab={token: i for i, token in enumerate([*specials, *WORDS, *PIECES])}, model_max_length=64
    )


@cache
def plain_tokenizer() -> Any:
    """No class token, no separator: as decoders have it. The only special token is the end."""
    vocab = {token: i for i, token in enumerate(["<end>", "_", *WORDS])}
    inner = Tokenizer(models.WordLevel(vocab, unk_token="_"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<end>", pad_token="<end>", model_max_length=64)


@cache
def t5_tokenizer() -> Any:
    vocab = {token: i for i, token in enumerate(["<pad>", "</s>", "<unk>", *WORDS])}
    inner = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    from tokenizers.processors import TemplateProcessing

    inner.post_processor = TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, eos_token="</s>", pad_token="<pad>", unk_token="<unk>", model_max_length=64
    )


def _seeded(kind: Any, config: Any, spread: float = 6.0) -> Any:
    assert not torch.is_inference_mode_enabled(), "a model made here could never be differentiated"
    torch.manual_seed(0)
    model = kind(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():  # the usual tiny spread makes every answer the same
            if parameter.dim() > 1:
                parameter.mul_(spread)
    return model


@cache
def bert(head: str, **settings: Any) -> Any:
    size = len(bert_tokenizer())
    config = transformers.BertConfig(
        vocab_size=size, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24,
        max_position_embeddings=64, **settings,
    )  # fmt: skip
    return _seeded(getattr(transformers, f"Bert{head}"), config)


@cache
def gpt2(head: str = "LMHeadModel", **settings: Any) -> Any:
    config = transformers.GPT2Config(
        vocab_size=len(plain_tokenizer()), n_embd=16, n_layer=2, n_head=2, n_positions=64, bos_token_id=0,
        eos_token_id=0, **settings,
    )  # fmt: skip
    return _seeded(getattr(transformers, f"GPT2{head}"), config)


@cache
def llama() -> Any:
    config = transformers.LlamaConfig(
        vocab_size=len(plain_tokenizer()), hidden_size=16, intermediate_size=24, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64, bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    return _seeded(transformers.LlamaForCausalLM, config)


@cache
def t5() -> Any:
    config = transformers.T5Config(
        vocab_size=len(t5_tokenizer()), d_model=16, d_kv=8, d_ff=24, num_layers=2, num_heads=2, pad_token_id=0,
        eos_token_id=1, decoder_start_token_id=0,
    )  # fmt: skip
    return _seeded(transformers.T5ForConditionalGeneration, config, 1.0)


@cache
def vit() -> Any:
    config = transformers.ViTConfig(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24, image_size=8, patch_size=2,
        num_channels=1, num_labels=3,
    )  # fmt: skip
    return _seeded(transformers.ViTForImageClassification, config)


@cache
def patchtst() -> Any:
    config = transformers.PatchTSTConfig(
        num_input_channels=2, context_length=24, patch_length=4, patch_stride=4, d_model=16, num_hidden_layers=2,
        num_attention_heads=2, ffn_dim=24, num_targets=3, num_labels=3, use_cls_token=True, norm_type="layernorm",
        scaling=None,
    )  # fmt: skip
    return _seeded(transformers.PatchTSTForClassification, config)
