"""A network goes to disk and comes back the same, or says exactly why not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from regard.errors import InputError, UnknownName
from regard.networks.checkpoint import NETWORKS, Network, load_checkpoint, save_checkpoint
from regard.networks.classifier import AttentionClassifier
from regard.networks.recurrent_translator import RecurrentTranslator
from regard.networks.series import SeriesTransformer
from regard.networks.tabular import TabularTransformer
from regard.networks.transformer_translator import TransformerTranslator
from regard.networks.vision import VisionTransformer

WRITTEN = (torch.tensor([[5, 6, 7]]), torch.tensor([[3, 5]]))
CASES: dict[str, tuple[Network, tuple[Tensor, ...]]] = {
    "attention_classifier": (
        AttentionClassifier(words=9, classes=2, encoder="cnn", attention="bilinear", size=4, hidden=4, dropout=0.1),
        (torch.tensor([[3, 4]]),),
    ),
    "vision_transformer": (VisionTransformer(height=4, width=4, patch=2, classes=3, size=8), (torch.rand(1, 1, 4, 4),)),
    "tabular_transformer": (TabularTransformer(columns=4, classes=2, size=8), (torch.rand(1, 4),)),
    "series_transformer": (SeriesTransformer(channels=2, classes=2, size=8), (torch.rand(1, 5, 2),)),
    "recurrent_translator": (
        RecurrentTranslator(source_words=9, target_words=8, cell="lstm", size=8, hidden=4),
        WRITTEN,
    ),
    "transformer_translator": (TransformerTranslator(source_words=9, target_words=8, size=8, heads=2), WRITTEN),
}


def _save(directory: Path, name: str = "tabular_transformer") -> Path:
    save_checkpoint(
        directory, CASES[name][0].eval(), labels=["no", "yes"], task="classification", modality="tabular",
        facts={"columns": ["a", "b", "c", "d"]},
    )  # fmt: skip
    return directory


@pytest.mark.parametrize("name", NETWORKS)
def test_round_trip(name: str, tmp_path: Path) -> None:
    network, about = load_checkpoint(_save(tmp_path / "deep" / "down", name))
    before, inputs = CASES[name]
    assert not network.training
    assert network.config == before.config
    assert torch.equal(network(*inputs), before(*inputs))
    assert (about["network"], about["labels"], about["task"]) == (name, ["no", "yes"], "classification")
    assert about["columns"] == ["a", "b", "c", "d"]
    assert {p.name for p in (tmp_path / "deep" / "down").iterdir()} == {"regard.json", "model.safetensors"}


def _tensors(change: str, directory: Path) -> None:
    path = directory / "model.safetensors"
    tensors = load_file(path)
    if change == "renamed":
        tensors["out.bias"] = tensors.pop("output.bias")
    elif change == "reshaped":
        tensors["output.bias"] = torch.zeros(5)
    elif change == "nan":
        tensors["output.bias"][0] = float("nan")
    save_file(tensors, path)
    about = json.loads((directory / "regard.json").read_text())
    if change != "swapped":
        del about["sha256"]
    else:
        tensors["output.bias"] += 1
        save_file(tensors, path)
    (directory / "regard.json").write_text(json.dumps(about))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("renamed", r"missing output\.bias; unexpected out\.bias"),
        ("reshaped", r"expected \(2,\); got \(5,\)"),
        ("nan", "finite"),
        ("swapped", "sha256"),
    ],
)
@pytest.mark.wording
def test_weights_that_do_not_fit(change: str, says: str, tmp_path: Path) -> None:
    _tensors(change, _save(tmp_path))
    with pytest.raises(InputError, match=says):
        load_checkpoint(tmp_path)


@pytest.mark.parametrize(
    ("key", "value", "error"),
    [
        ("format", "other", InputError),
        ("version", 99, InputError),
        ("network", "tabular_transfomer", UnknownName),
        ("config", {"columns": 4, "clases": 2}, InputError),
    ],
)
def test_a_description_that_does_not_fit(key: str, value: object, error: type[Exception], tmp_path: Path) -> None:
    _save(tmp_path)
    about = json.loads((tmp_path / "regard.json").read_text())
    (tmp_path / "regard.json").write_text(json.dumps({**about, key: value}))
    with pytest.raises(error):
        load_checkpoint(tmp_path)


def test_not_a_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"regard\.json"):
        load_checkpoint(tmp_path)
    (tmp_path / "regard.json").write_text("{")
    with pytest.raises(InputError, match="description"):
        load_checkpoint(tmp_path)
    _save(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"\x00" * 20)
    with pytest.raises(InputError, match="safetensors"):
        load_checkpoint(tmp_path)


def test_saving_again_replaces(tmp_path: Path) -> None:
    _save(tmp_path)
    network = TabularTransformer(columns=4, classes=2, size=8).eval()
    save_checkpoint(tmp_path, network, labels=["a", "b"], task="classification", modality="tabular")
    again, about = load_checkpoint(tmp_path)
    assert about["labels"] == ["a", "b"]
    assert torch.equal(again(torch.ones(1, 4)), network(torch.ones(1, 4)))
