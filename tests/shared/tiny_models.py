"""Tiny Hugging Face models in directories, with a tokenizer of words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers

from regard.testing.architecture import enliven

WORDS = [f"w{i}" for i in range(60)]
TEXTS = [" ".join(WORDS[(7 * i + k * (1 + i % 5)) % 60] for k in range(6 + i % 7)) for i in range(16)]


def saved(folder: Path, model: transformers.PreTrainedModel) -> str:
    known = ["[PAD]", "[START]", "[END]", "[UNK]", *WORDS]
    made = Tokenizer(models.WordLevel({word: i for i, word in enumerate(known)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="[PAD]", unk_token="[UNK]", bos_token="[START]", eos_token="[END]",
        model_max_length=64,
    )  # fmt: skip
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def built(kind: str, config: Any) -> transformers.PreTrainedModel:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model: transformers.PreTrainedModel = getattr(transformers, kind)(config)
        enliven(model)
    return model.eval()


def llama(folder: Path, *, heads: int = 4, groups: int = 2) -> str:
    """Grouped queries: two heads share each head of keys and values."""
    config = transformers.LlamaConfig(
        vocab_size=64, hidden_size=32, intermediate_size=40, num_hidden_layers=2, num_attention_heads=heads,
        num_key_value_heads=groups, head_dim=8, max_position_embeddings=64, pad_token_id=0, bos_token_id=1,
        eos_token_id=2,
    )  # fmt: skip
    return saved(folder, built("LlamaForCausalLM", config))


def bart(folder: Path) -> str:
    config = transformers.BartConfig(
        vocab_size=64, d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=40, decoder_ffn_dim=40, max_position_embeddings=64, pad_token_id=0,
        bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, forced_eos_token_id=None,
    )  # fmt: skip
    return saved(folder, built("BartForConditionalGeneration", config))


def whisper(folder: Path) -> str:
    """Hears one second at a time; its alphabet is single bytes, `<|notimestamps|>` is given to the writer."""
    letters = [chr(33 + i) for i in range(60)]
    vocabulary = {letter: i for i, letter in enumerate(["Ġ", *letters])}
    special = ["<|endoftext|>", "<|startoftranscript|>", "<|notimestamps|>", "<|0.00|>"]
    end = len(vocabulary)
    config = transformers.WhisperConfig(
        vocab_size=end + len(special), num_mel_bins=16, d_model=32, encoder_layers=1, decoder_layers=2,
        encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=40, decoder_ffn_dim=40,
        max_source_positions=50, max_target_positions=24, decoder_start_token_id=end + 1, bos_token_id=end,
        eos_token_id=end, pad_token_id=end, begin_suppress_tokens=[0, end], suppress_tokens=None,
    )  # fmt: skip
    model = built("WhisperForConditionalGeneration", config)
    facts = {"no_timestamps_token_id": end + 2, "is_multilingual": False, "begin_suppress_tokens": [0, end]}
    facts["_from_model_config"] = False  # else transformers forgets what is not in the model config
    for name, value in {**facts, "suppress_tokens": [end + 1], "max_length": 24}.items():
        setattr(model.generation_config, name, value)
    tokenizer = transformers.WhisperTokenizer(vocab=vocabulary, merges=[])
    tokenizer.add_special_tokens({"additional_special_tokens": special[:3]})
    tokenizer.add_tokens(special[3:])
    extractor = transformers.WhisperFeatureExtractor(feature_size=16, chunk_length=1)
    model.save_pretrained(folder)
    transformers.WhisperProcessor(extractor, tokenizer).save_pretrained(folder)
    return str(folder)
