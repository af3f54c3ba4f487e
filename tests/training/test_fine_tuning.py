"""Fine-tuning a Hugging Face directory: only what should change changes, and what is saved answers as trained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import toy_examples as toy
from safetensors.torch import load_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertModel, DistilBertConfig, DistilBertModel, PreTrainedTokenizerFast

from regard.errors import InputError
from regard.models.load import load
from regard.training.train import train

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "bad", "film", "the", "it"]
DATA = toy.splits(toy.text)
SETTINGS = {"epochs": 12, "batch_size": 8, "rate": 5e-3, "patience": 12}


def _tokenizer() -> PreTrainedTokenizerFast:
    inner = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="[UNK]"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    inner.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        mask_token="[MASK]",
    )  # fmt: skip


def _saved(kind: str, folder: Path) -> Path:
    torch.manual_seed(0)
    model: Any
    config: Any
    if kind == "bert":
        config = BertConfig(
            vocab_size=10, hidden_size=16, intermediate_size=16, num_hidden_layers=3, num_attention_heads=2,
            max_position_embeddings=16, initializer_range=0.3,
        )  # fmt: skip
        model = BertModel(config)
    else:
        config = DistilBertConfig(
            vocab_size=10, dim=16, hidden_dim=16, n_layers=2, n_heads=2, max_position_embeddings=16,
            initializer_range=0.3,
        )  # fmt: skip
        model = DistilBertModel(config)
    model.save_pretrained(folder)
    _tokenizer().save_pretrained(folder)
    return folder


@pytest.mark.parametrize(("kind", "layers"), [("bert", 1), ("bert", 0), ("distilbert", 0)])
def test_what_is_saved_answers_as_it_was_trained(kind: str, layers: int, tmp_path: Path) -> None:
    source = _saved(kind, tmp_path / kind)
    spec = f"pretrained:directory={source},layers={layers}"
    made = train(spec, DATA, out=tmp_path / "out", settings=SETTINGS)
    assert made.members[0]["test_accuracy"] > 0.85
    model = load(made.directory, device="cpu")
    assert model.labels == ("no", "yes")
    said = [model.decide([model.encode(e)])[1][0] for e in DATA.test]
    right = sum(a == e.label for a, e in zip(said, DATA.test, strict=True)) / len(DATA.test)
    assert right == made.members[0]["test_accuracy"]
    if layers:
        before, after = load_file(source / "model.safetensors"), load_file(made.directory / "model.safetensors")
        kept = {name for name in before if torch.equal(before[name], after[f"bert.{name}"])}
        moved = before.keys() - kept
        assert all(name.startswith(("encoder.layer.2.", "pooler.")) for name in moved), moved
        assert any(name.startswith("encoder.layer.2.") for name in moved)


def test_a_family_of_fine_tuned_models_shares_its_lower_layers(tmp_path: Path) -> None:
    source = _saved("bert", tmp_path / "bert")
    spec = f"pretrained:directory={source},layers=1"
    two = train(spec, DATA, out=tmp_path / "two", seeds=2, settings={**SETTINGS, "epochs": 1})
    one = train(spec, DATA, out=tmp_path / "one", seed=1, settings={**SETTINGS, "epochs": 1})
    a, b = (load_file(folder / "model.safetensors") for folder in (two.directory / "seed-1", one.directory))
    assert all(torch.equal(a[name], b[name]) for name in a)
    assert load(two.directory, device="cpu").task == "classification"


@pytest.mark.parametrize(
    ("kind", "layers", "says"),
    [("bert", 4, "layers: expected 0 to 3; got 4"), ("distilbert", 1, "Try: layers=0 trains the whole model")],
)
def test_layers_that_are_not_there(kind: str, layers: int, says: str, tmp_path: Path) -> None:
    spec = f"pretrained:directory={_saved(kind, tmp_path / kind)},layers={layers}"
    with pytest.raises(InputError, match=says):
        train(spec, DATA, out=tmp_path / "out")


def test_weights_that_are_not_there(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    source = _saved("bert", tmp_path / "bert")
    tensors = load_file(source / "model.safetensors")
    tensors["encoder.layer.0.wrong"] = tensors.pop("encoder.layer.0.attention.self.query.weight")
    save_file(tensors, source / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match=r"all weights of a BertForSequenceClassification; got no .*query.weight"):
        train(f"pretrained:directory={source}", DATA, out=tmp_path / "out")
