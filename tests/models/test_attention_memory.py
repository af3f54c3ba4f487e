"""However many examples an audit has, no more attention is held than that of one shard: a batch of examples."""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path
from typing import Any

import adapter_zoo as zoo
import numpy as np
import torch
import transformers

from regard.audits.audit import audit
from regard.audits.plan import SHARD
from regard.datasets.examples import Examples
from regard.models.open.load import load
from regard.records import Example

WORDS, LAYERS, HEADS = 94, 2, 4
LENGTH = WORDS + 2
ATTENTION = LAYERS * HEADS * LENGTH * LENGTH * 4
"""Bytes of the weights of one example."""
METHODS = ("attention", "attention_x_gradient")


def model() -> Any:
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(zoo.bert_tokenizer()), hidden_size=16, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
        intermediate_size=16, max_position_embeddings=LENGTH,
    )  # fmt: skip
    tokenizer = zoo.bert_tokenizer.__wrapped__()  # one of its own, for longer texts
    tokenizer.model_max_length = LENGTH
    return load(transformers.BertForSequenceClassification(config).eval(), processor=tokenizer)


def examples(count: int) -> Examples:
    words = [w for w in zoo.WORDS if w.isalpha()]
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(words, WORDS)) for _ in range(count)]
    return Examples("words", [Example(f"e{i}", {"text": text}) for i, text in enumerate(texts)])


def maps_alive() -> int:
    """Maps of attention that torch still holds: tensors whose last two axes are the positions."""
    alive = [o for o in gc.get_objects() if issubclass(type(o), torch.Tensor) and o.shape[-2:] == (LENGTH, LENGTH)]
    return sum(t.numel() * t.element_size() for t in alive)


def audited(count: int, folder: Path) -> tuple[int, list[int]]:
    """(most bytes of arrays at any moment, bytes of maps that torch holds whenever a shard is done)"""
    left: list[int] = []
    live, data = model(), examples(count)
    gc.collect()
    gc.freeze()  # so that `maps_alive` looks at the objects of this audit, not at those of a whole test session
    tracemalloc.start()
    try:
        audit(
            live, data, out=folder, limit=count, explainers=METHODS, metrics=["entropy"], keep=0,
            progress=lambda done, total, eta: left.append(maps_alive()),
        )  # fmt: skip
        return tracemalloc.get_traced_memory()[1], left
    finally:
        tracemalloc.stop()


def test_three_times_the_examples_need_no_more_attention_in_memory(tmp_path: Path) -> None:
    audited(2, tmp_path / "imports")
    few, _ = audited(SHARD, tmp_path / "few")
    many, left = audited(3 * SHARD, tmp_path / "many")
    assert few > ATTENTION, "maps and their gradients were held"
    assert many - few < SHARD * ATTENTION, "half of the attention of the other examples"
    assert len(left) >= 3
    assert max(left) <= SHARD * ATTENTION
