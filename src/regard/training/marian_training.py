"""Training of the translator `marian`: a small Hugging Face encoder-decoder on the sentences of `phrases`."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.datasets.builtin.phrases import phrases
from regard.records import Example, Json
from regard.training.fixed_steps import batch_of, save_parts, train_steps
from regard.training.word_tokenizer import spaced_words

PAIRS = "pairs.csv"
"""File beside the weights: test sentences, their translations, and the links of words as `source-target`."""
TRAINED_ON, TESTED, BATCH, RATE = 4000, 200, 48, 2e-3
IGNORED = -100
Pair = tuple[str, str, str]
"""Source words, target words, links in Pharaoh format."""


def train_marian(out: Path, *, steps: int, seed: int) -> Mapping[str, Json]:
    """Train, save the model with its tokenizer and the test pairs; return the share of exact test translations."""
    torch.manual_seed(seed)
    train = [pair_of(example) for example in phrases(split="train", n=TRAINED_ON, seed=seed)]
    test = [pair_of(example) for example in phrases(split="test", n=TESTED, seed=seed)]
    tokenizer = _tokenizer([text for source, target, _ in (*train, *test) for text in (source, target)])
    model = _model(tokenizer)
    order = np.random.default_rng(seed)

    def loss() -> Tensor:
        batch = batch_of(train, BATCH, order)
        inputs = tokenizer([source for source, _, _ in batch], padding=True, return_tensors="pt")
        labels = tokenizer([target for _, target, _ in batch], padding=True, return_tensors="pt")["input_ids"]
        value: Tensor = model(**inputs, labels=labels.masked_fill(labels == tokenizer.pad_token_id, IGNORED)).loss
        return value

    train_steps(model, loss, steps=steps, rate=RATE)
    save_parts(out, model, tokenizer)
    with (out / PAIRS).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("source", "target", "alignment"))
        writer.writerows(test)
    return {"steps": steps, "test": len(test), "test_accuracy": _exact(model, tokenizer, test)}


def pair_of(example: Example) -> Pair:
    """A sentence pair with spaces between the linked parts of the translation, and the links of its words.

    >>> pair_of(phrases(n=1)[0])
    ('I love natural language processing', '我 爱 自然 语言 处理', '0-0 1-1 2-2 3-3 4-4')
    """
    source, target = str(example.inputs["text"]), str(example.label)
    linked = list(example.alignment or ())
    parts = sorted({(c, d) for _, _, c, d in linked})
    words, place = [], 0
    for word in source.split():
        start = source.index(word, place)
        place = start + len(word)
        words.append((start, place))
    links = [f"{i}-{parts.index((c, d))}" for a, b, c, d in linked for i, (e, f) in enumerate(words) if e < b and a < f]
    return source, " ".join(target[c:d] for c, d in parts), " ".join(dict.fromkeys(links))


def _exact(model: Any, tokenizer: Any, pairs: Sequence[Pair]) -> float:
    inputs = tokenizer([source for source, _, _ in pairs], padding=True, return_tensors="pt")
    with torch.no_grad():
        outputs = model.generate(**inputs, max_new_tokens=30, num_beams=1, do_sample=False)
    texts = tokenizer.batch_decode(outputs, skip_special_tokens=True)
    return float(np.mean([text == target for text, (_, target, _) in zip(texts, pairs, strict=True)]))


def _model(tokenizer: Any) -> Any:
    from transformers import MarianConfig, MarianMTModel

    config = MarianConfig(
        vocab_size=len(tokenizer),
        decoder_vocab_size=len(tokenizer),
        d_model=64,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=128,
        decoder_ffn_dim=128,
        max_position_embeddings=64,
        dropout=0.0,
        scale_embedding=True,
        init_std=0.1,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        forced_eos_token_id=None,
        decoder_start_token_id=tokenizer.pad_token_id,
    )
    return MarianMTModel(config)


def _tokenizer(texts: Sequence[str]) -> Any:
    """Words split at spaces, and an end token."""
    words = ["<pad>", "</s>", "<unk>", *sorted({word for text in texts for word in text.split()})]
    return spaced_words(words, "$A </s>", "</s>", eos_token="</s>", model_max_length=64)
