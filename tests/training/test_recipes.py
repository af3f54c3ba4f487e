"""Recipes: from a data set to a checkpoint, on tiny data; labels by name or number; errors said plainly."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from regard.datasets.examples import Examples
from regard.errors import InputError
from regard.measures.keyed_random import keyed_rng
from regard.networks.checkpoint import load_checkpoint
from regard.networks.vocabulary import Vocabulary
from regard.records import Example, Json
from regard.training.array_classifiers import train_image_classifier, train_series_classifier, train_table_classifier
from regard.training.labels import label_names, numbered
from regard.training.loop import Settings
from regard.training.terms import balanced
from regard.training.text_classifier import train_text_classifier

SETTINGS = Settings(epochs=6, batch_size=16, rate=1e-2, patience=6)


def _text(label: int, rng: np.random.Generator) -> dict[str, object]:
    return {"text": " ".join(rng.permutation(["good" if label else "bad", "film", "the", "it"]))}


def _image(label: int, rng: np.random.Generator) -> dict[str, object]:
    image = rng.random((4, 4))
    image[:2] += 3 * label
    return {"image": image}


def _series(label: int, rng: np.random.Generator) -> dict[str, object]:
    return {"series": rng.random((int(rng.integers(4, 8)), 2)) + 2 * label}


def _row(label: int, rng: np.random.Generator) -> dict[str, object]:
    return {"row": rng.random(3) + np.array([0.0, label, 0.0])}


def _data(make: Callable[[int, np.random.Generator], dict[str, object]], key: str, n: int = 48) -> Examples:
    rng = keyed_rng(0, key)
    items = tuple(Example(f"{key}{i}", make(i % 2, rng), i % 2) for i in range(n))
    return Examples("toy", items, ("no", "yes"))


RECIPES = {
    "text": (train_text_classifier, _text, lambda e: None),
    "image": (train_image_classifier, _image, lambda e: torch.tensor(e["image"])[None, None].float()),
    "series": (train_series_classifier, _series, lambda e: torch.tensor(e["series"])[None].float()),
    "tabular": (train_table_classifier, _row, lambda e: torch.tensor(e["row"])[None].float()),
}


@pytest.mark.parametrize("name", RECIPES)
def test_recipe(name: str, tmp_path: Path) -> None:
    recipe, make, prepare = RECIPES[name]
    train, dev, test = _data(make, "train"), _data(make, "dev", 20), _data(make, "test", 20)
    facts = recipe(train, dev, test, tmp_path, SETTINGS)
    network, about = load_checkpoint(tmp_path)
    assert (about["modality"], about["task"], about["labels"]) == (name, "classification", ["no", "yes"])
    assert facts["test_accuracy"] > 0.85
    assert about["training"] == facts
    assert facts["data_fingerprint"] == train.fingerprint
    right = 0
    for example in test:
        if name == "text":
            inputs = torch.tensor([Vocabulary.from_json(about["vocabulary"]).encode(str(example.inputs["text"]))[0]])
        else:
            inputs = prepare(example.inputs)
        right += int(network(inputs).argmax() == example.label)
    assert right / len(test) == facts["test_accuracy"]


def test_arrays_of_different_shapes(tmp_path: Path) -> None:
    train = _data(_row, "train")
    odd = train.keep([*train.items[:4], Example("odd", {"row": np.zeros(5)}, 0)])
    with pytest.raises(InputError, match=r"one shape for all; got \(3,\) and \(5,\)"):
        train_table_classifier(odd, train, train, tmp_path, SETTINGS)


@pytest.mark.parametrize("labels", [[0, 1, 0], ["no", "yes", "no"]])
def test_labels_by_name_or_number(labels: list[Json]) -> None:
    data = Examples("toy", tuple(Example(str(i), {}, label) for i, label in enumerate(labels)), ("no", "yes"))
    assert numbered(data, label_names(data)).tolist() == [0, 1, 0]


def test_labels_without_names() -> None:
    data = Examples("toy", tuple(Example(str(i), {}, label) for i, label in enumerate([7, 3, 7])))
    assert label_names(data) == ("3", "7")
    assert numbered(data, label_names(data)).tolist() == [1, 0, 1]


@pytest.mark.parametrize("label", [None, 2, -1, "maybe", True, 0.5])
def test_labels_that_are_none(label: Json) -> None:
    data = Examples("toy", (Example("a", {}, 0), Example("b", {}, label)), ("no", "yes"))
    with pytest.raises(InputError, match=r"example 'b' in toy: expected one of no, yes"):
        numbered(data, ("no", "yes"))


def test_balanced_weights_make_classes_count_alike() -> None:
    labels = np.array([0] * 5 + [1] * 20 + [2] * 75)
    weights = np.array(balanced(labels, 3))
    sums = weights * np.bincount(labels)
    assert sums == pytest.approx(np.full(3, sums[0]))
    assert weights.mean() == pytest.approx(1.0)
    assert np.isfinite(balanced(np.array([0, 0]), 2)).all()
