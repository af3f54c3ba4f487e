"""Hugging Face classifiers and networks over images are improved by the same call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

from regard.datasets.examples import Examples
from regard.errors import InputError
from regard.improve.improve import improve
from regard.measures.keyed_random import keyed_rng
from regard.models.open.load import load
from regard.records import Example
from regard.training.train import train
from regard.training.train_one import Splits

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "fine", "bad", "poor", "film", "the", "it", "was"]


def texts(key: str, n: int) -> Examples:
    rng = keyed_rng(0, "improve bert", key)
    items = []
    for i in range(n):
        words = [str(rng.choice(("good", "fine") if i % 2 else ("bad", "poor"))), *rng.choice(WORDS[9:], 4)]
        said = " ".join(map(str, rng.permutation(words)))
        at = said.find(words[0])
        items.append(Example(f"{key}{i}", {"text": said}, i % 2, ((float(at), float(at + len(words[0]))),)))
    return Examples("small", tuple(items), ("no", "yes"))


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bert")
    inner = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="[UNK]"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    inner.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        mask_token="[MASK]",
    ).save_pretrained(folder)  # fmt: skip
    torch.manual_seed(0)
    config: Any = BertConfig(
        vocab_size=len(WORDS), hidden_size=16, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=16, initializer_range=0.3, id2label={0: "no", 1: "yes"}, label2id={"no": 0, "yes": 1},
    )  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(folder)
    return folder


def test_a_hugging_face_classifier_is_trained_further(bert: Path, tmp_path: Path) -> None:
    data = Splits(texts("train", 32), texts("dev", 8), texts("test", 10))
    found = improve(
        str(bert),
        [
            "adversarial:how=freelb,steps=2", "attention-adversarial:control=false",
            "attention-regularised:toward=rationales",
        ],
        data, out=tmp_path / "out", seeds=1, examples=5, budget=4,
        settings={"epochs": 2, "batch_size": 8, "rate": 5e-3},
    )  # fmt: skip
    assert found.further
    for arm in ("plain", "adversarial", "attention-adversarial", "attention-regularised"):
        model = load(found.folder(arm))
        assert model.labels == ("no", "yes")
        assert (found.folder(arm) / "config.json").is_file()
    rows = {row.quantity for row in found.comparisons["adversarial", "plain"]}
    assert {"accuracy", "attack_success", "gradient_agreement", "stability", "faithfulness"} <= rows


def test_a_network_over_images_has_its_own_noise_and_attack(tmp_path: Path) -> None:
    def images(key: str, n: int) -> Examples:
        rng = keyed_rng(0, "improve images", key)
        items = []
        for i in range(n):
            picture = rng.random((4, 4))
            picture[:2] += i % 2
            items.append(Example(f"{key}{i}", {"image": picture / 2}, i % 2))
        return Examples("pictures", tuple(items), ("dark", "light"), modality="image")

    data = Splits(images("train", 32), images("dev", 8), images("test", 10))
    train("vision:size=8,layers=1", data, out=tmp_path / "base", settings={"epochs": 2, "batch_size": 8})
    found = improve(
        str(tmp_path / "base"), ["adversarial", "noise"], data, out=tmp_path / "out", seeds=1, examples=4, budget=6
    )
    assert found.plan.attack == "pgd"
    assert not set(found.plan.learned_noises) & {"keyboard", "drop_words"}
    rows = {row.quantity: row for row in found.comparisons["adversarial", "plain"]}
    assert np.isfinite(rows["noise_accuracy"].after)
    assert "adaptive_attack_success" not in rows
    assert "attack_success" in rows
    with pytest.raises(InputError, match="one attention over words"):
        improve(str(tmp_path / "base"), ["attention-adversarial"], data, out=tmp_path / "other")
