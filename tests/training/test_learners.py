"""Learners: from a data set to a checkpoint that opens, on tiny data; labels by name or number; errors said plainly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import toy_examples as toy

from regard.datasets.examples import Examples
from regard.errors import InputError, RegardError
from regard.models.open.load import load
from regard.networks.checkpoint import load_checkpoint
from regard.records import Example, Json, Spec
from regard.registry import build, names
from regard.training.labels import balanced, label_names, numbered
from regard.training.learner import Learner
from regard.training.loop import Settings
from regard.training.train_one import Splits, train_one

SETTINGS = Settings(epochs=6, batch_size=16, rate=1e-2, patience=6)
CLASSIFIERS = {
    "text": ("classifier:size=16,hidden=8,dropout=0.1", toy.text),
    "image": ("vision:size=16,layers=1", toy.image),
    "series": ("series:size=16,layers=1", toy.series),
    "tabular": ("tabular:size=16,layers=1", toy.row),
}


def learner(text: str, train: Examples) -> Learner:
    made: Learner = build(Spec.parse("learner", text))(train)
    return made


@pytest.mark.parametrize("modality", CLASSIFIERS)
def test_from_data_to_a_model_that_is_as_good_as_its_facts_say(modality: str, tmp_path: Path) -> None:
    spec, make = CLASSIFIERS[modality]
    data = toy.splits(make)
    facts = train_one(learner(spec, data.train), data, tmp_path, SETTINGS)
    about = load_checkpoint(tmp_path)[1]
    assert (about["modality"], about["task"], about["labels"]) == (modality, "classification", ["no", "yes"])
    assert about["training"] == facts
    assert facts["data_fingerprint"] == data.train.fingerprint
    assert facts["test_accuracy"] > 0.85
    assert facts["test_examples"] == 20
    model = load(tmp_path, device="cpu")
    said = [model.predict([model.encode(example)])[1][0] for example in data.test]
    assert np.mean([a == e.label for a, e in zip(said, data.test, strict=True)]) == facts["test_accuracy"]


@pytest.mark.parametrize("axis", [0, -1], ids=["channels first", "channels last"])
def test_colour_pictures_are_learned_in_either_order_of_axes(axis: int, tmp_path: Path) -> None:
    def picture(label: int, rng: np.random.Generator) -> dict[str, Any]:
        colours = rng.random((3, 4, 8))
        colours[label] += 1  # the colour decides, not the brightness
        return {"image": np.moveaxis(colours, 0, axis)}

    data = toy.splits(picture)
    facts = train_one(learner("vision:size=16,layers=1", data.train), data, tmp_path, SETTINGS)
    assert facts["test_accuracy"] > 0.85
    assert load_checkpoint(tmp_path)[0].config["channels"] == 3


def test_each_aspect_has_a_query_of_its_own(tmp_path: Path) -> None:
    data = toy.splits(toy.question, 96)
    made = learner("classifier:aspects=true,size=16,hidden=8,dropout=0.0,noise=0", data.train)
    facts = train_one(made, data, tmp_path, Settings(epochs=25, batch_size=16, rate=1e-2, patience=25))
    assert facts["test_accuracy"] == 1.0  # the text alone says nothing
    network, about = load_checkpoint(tmp_path)
    assert about["aspects"] == ["place", "price"]
    assert network.config["aspects"] == 2
    model = load(tmp_path, device="cpu")
    assert [model.predict([model.encode(e)])[1][0] for e in data.test] == [e.label for e in data.test]


@pytest.mark.parametrize("encoder", ["recurrent", "transformer"])
def test_a_translator_copies_and_its_alignment_is_reported(encoder: str, tmp_path: Path) -> None:
    def said(example: Example) -> Json:
        return str(example.inputs["text"]).replace(" ", "")[:2]

    def links(example: Example) -> Example:
        return Example(example.id, example.inputs, said(example), alignment=((0, 2, 0, 2),))

    parts = [toy.examples(toy.text, key, n) for key, n in (("train", 40), ("dev", 12), ("test", 12))]
    train, dev, test = (Examples("toy", tuple(map(links, part))) for part in parts)
    made = learner(f"translator:encoder={encoder},size=16,layers=1", train)
    settings = Settings(epochs=30, batch_size=8, rate=1e-2, patience=30)
    facts = train_one(made, Splits(train, dev, test), tmp_path, settings)
    assert facts["metric"] == "exact_match"
    assert float(str(facts["test_exact_match"])) > 0.8  # one in five by chance
    alignment = facts["alignment"]
    assert isinstance(alignment, dict)
    assert (alignment["n"], 0 <= float(str(alignment["error_rate"])) <= 1) == (12, True)
    assert load(tmp_path, device="cpu").task == "sequence_to_sequence"


def test_a_forecast_is_better_than_saying_the_mean(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)

    def wave(key: str, n: int) -> Examples:
        starts = rng.random(n) * 6
        waves = [100 + 10 * np.sin(s + np.arange(9)) for s in starts]
        items = tuple(Example(f"{key}{i}", {"series": w[:8, None]}, [float(w[8])]) for i, w in enumerate(waves))
        return Examples("waves", items, modality="series")

    data = Splits(wave("train", 96), wave("dev", 20), wave("test", 20))
    made = learner("series:size=16,layers=1,noise=0,dropout=0", data.train)
    facts = train_one(made, data, tmp_path, Settings(epochs=20, batch_size=16, rate=1e-2, patience=20))
    values = np.array([e.label for e in data.test], float)
    assert (facts["metric"], facts["test_interval"]) == ("absolute_error", None)
    assert float(str(facts["test_absolute_error"])) < 0.5 * np.abs(values - 100).mean()
    assert load(tmp_path, device="cpu").task == "forecasting"


def test_arrays_of_different_shapes() -> None:
    train = toy.examples(toy.row, "train")
    odd = train.keep([*train.items[:4], Example("odd", {"row": np.zeros(5)}, 0)])
    with pytest.raises(InputError, match=r"one shape for all; got \(3,\) and \(5,\)"):
        learner("tabular", odd)


@pytest.mark.parametrize(
    ("spec", "data", "says"),
    [
        ("classifier", toy.examples(toy.image, "train"), "an input 'text'; got image. Try: regard train vision"),
        ("vision", toy.examples(toy.text, "train"), "an input 'image'; got text. Try: regard train classifier"),
        ("classifier:aspects=true", toy.examples(toy.text, "train"), "an input 'text_pair'; got text"),
        ("classifier:encoder=lstm", toy.examples(toy.text, "train"), "encoder 'lstm'.*Try: bilstm"),
        ("classifier:atention=dot", toy.examples(toy.text, "train"), "Try: attention"),
        ("translator", toy.examples(toy.text, "train"), "a text, the translation; got 0"),
        ("pretrained:directory=nowhere", toy.examples(toy.text, "train"), "no such directory"),
        (
            "classifier",
            toy.labelled(toy.examples(toy.text, "train"), lambda e: "yes"),
            "train split of toy: expected at least two classes; got only 'yes'",
        ),
    ],
)
def test_unusable_data(spec: str, data: Examples, says: str) -> None:
    with pytest.raises(RegardError, match=says):
        learner(spec, data)


def test_every_learner_names_what_it_makes() -> None:
    assert set(names("learner")) >= {"classifier", "translator", "vision", "series", "tabular", "pretrained"}


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
