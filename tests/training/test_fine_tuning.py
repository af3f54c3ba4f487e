"""Fine-tuning a Hugging Face directory: only what should change changes, and what is saved answers as trained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import toy_examples as toy
from safetensors.torch import load_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertModel, DistilBertConfig, DistilBertModel, PreTrainedTokenizerFast

from regard.errors import InputError
from regard.models.open.load import load
from regard.records import Spec
from regard.registry import build
from regard.training.fine_tuning import Prepared
from regard.training.loss import forward, total, weighted_terms
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
    said = [model.predict([model.encode(e)])[1][0] for e in DATA.test]
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


@pytest.mark.parametrize(("kind", "layers"), [("bert", 1), ("bert", 0), ("distilbert", 0)])
def test_attention_of_a_hugging_face_model_can_be_spoken_of_and_disturbed(
    kind: str, layers: int, tmp_path: Path
) -> None:
    source = _saved(kind, tmp_path / kind)
    spec = Spec("learner", "pretrained", {"directory": str(source), "layers": layers, "looks": True})
    learner = build(spec)(DATA.train)
    plain = build(Spec("learner", "pretrained", {"directory": str(source), "layers": layers}))(DATA.train)
    torch.manual_seed(3)
    looking = learner.network().eval()
    torch.manual_seed(3)
    blind = plain.network().eval()
    batch = learner.rows(DATA.train, True).batch(np.arange(6), None)
    said = forward(looking, batch)
    torch.testing.assert_close(said.logits, forward(blind, batch).logits, atol=1e-5, rtol=1e-4)
    assert said.weights is not None
    assert said.real is not None
    torch.testing.assert_close(said.weights.sum(-1), torch.ones(6))
    assert not said.weights[~said.real].any()
    text = DATA.train[0].inputs["text"]
    assert [text[a:b] for a, b in learner.spans(DATA.train[0])] == ["", *text.split(), ""]
    terms = {
        "cross_entropy": 1.0, "adversarial_attention:epsilon=2": 1.0, "adversarial_inputs": 1.0,
        "attention_entropy": 0.1, "conicity": 0.1, "gradient_distance": 0.1, "consistency:attention=1.0": 0.5,
    }  # fmt: skip
    loss, parts = total(weighted_terms(terms), said, batch)
    assert parts["adversarial_attention:epsilon=2"] > parts["cross_entropy"]
    assert parts["adversarial_inputs"] > parts["cross_entropy"]
    loss.backward()  # type: ignore[no-untyped-call]
    assert all(p.grad is None or torch.isfinite(p.grad).all() for p in looking.parameters())


def test_attention_of_a_model_that_decides_elsewhere_is_refused(tmp_path: Path) -> None:
    from transformers import GPT2Config, GPT2ForSequenceClassification

    config = GPT2Config(vocab_size=10, n_embd=8, n_layer=1, n_head=2, n_positions=16, pad_token_id=0)
    GPT2ForSequenceClassification(config).save_pretrained(tmp_path)
    _tokenizer().save_pretrained(tmp_path)
    with pytest.raises(InputError, match="decides by its first token"):
        Prepared(tmp_path, ("no", "yes"), 0, 16, looks=True)
