"""Saved networks of every kind open through `load`, and answer like any other model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from regard.errors import InputError, UnknownName
from regard.message import Message
from regard.models.ask.gradients import slopes as slopes_at
from regard.models.capture import capture
from regard.models.capture_generation import capture_generation
from regard.models.open.load import load
from regard.models.open.wrap import wrap
from regard.models.read_rows import read_rows
from regard.models.trial_input import trial_input
from regard.networks.checkpoint import Translator, save_checkpoint
from regard.networks.classifier import AttentionClassifier
from regard.networks.imposed import load_imposed, save_imposed
from regard.networks.recurrent_translator import RecurrentTranslator
from regard.networks.series import SeriesTransformer
from regard.networks.transformer_translator import TransformerTranslator
from regard.networks.vision import VisionTransformer
from regard.networks.vocabulary import END, Vocabulary
from regard.protocols import Point
from regard.records import Edit, Example

SOURCE = Vocabulary.build(["3 May 1979", "12 June 2004", "the 5 8 6"], min_count=1, cut="figure")
TARGET = Vocabulary.build(["1979-05-03", "2004-06-12"], min_count=1, cut="character", generation=True)


def _translator(kind: str) -> Translator:
    torch.manual_seed(1)
    sizes = {"source_words": len(SOURCE), "target_words": len(TARGET), "size": 8}
    made = RecurrentTranslator(**sizes, hidden=4) if kind == "recurrent" else TransformerTranslator(**sizes, heads=2)
    with torch.no_grad():
        made.output.bias[END] = -2.0  # it does not stop at once
        for parameter in made.parameters():
            parameter.mul_(2.0)
    return made.eval()


@pytest.fixture(params=["recurrent", "transformer"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    vocabularies = {"source_vocabulary": SOURCE.to_json(), "target_vocabulary": TARGET.to_json(), "longest": 6}
    network = _translator(request.param)
    save_checkpoint(tmp_path, network, labels=[], task="sequence_to_sequence", modality="text", facts=vocabularies)
    return tmp_path


def test_a_translator_writes_and_is_captured(folder: Path) -> None:
    model: Any = load(str(folder))
    assert model.task == "sequence_to_sequence"
    examples = [Example("a", {"text": "3 May 1979"}), Example("b", {"text": "the 12 June"})]
    batch = [model.encode(e) for e in examples]
    assert batch[0].units.names == ("3", "May", "1", "9", "7", "9")
    answers, targets = model.predict(batch)
    assert all(1 <= len(t) <= 6 for t in targets)
    alone = [model.predict([item])[1][0] for item in batch]
    assert alone == targets  # padding changes nothing
    model.module.requires_grad_(False)
    logits = model.module(torch.tensor([SOURCE.encode("3 May 1979")[0]]), torch.tensor([[3, *targets[0][:-1]]]))
    told = torch.log_softmax(logits[0], -1)[torch.arange(len(targets[0])), targets[0]].sum()
    np.testing.assert_allclose(answers.value[0], float(told), atol=1e-5)
    found = model.capture(batch, targets, mode="weights")
    cross = [site for site in found.sites if site.site.kind == "cross"]
    assert cross
    for site in cross:
        weights = site.dense().weights
        assert weights.shape[2:] == (max(map(len, targets)), 6)
        np.testing.assert_allclose(weights[1, :, : len(targets[1]), :4].sum(-1), 1, atol=1e-6)
        assert (weights[1, :, :, 4:] == 0).all()
        assert read_rows(model, batch[0], targets[0], site.site) == tuple(range(len(targets[0])))
    edited = model.forward(batch, targets, [Edit("uniform", site=cross[0].site.key)])
    assert np.abs(edited.value - answers.value).max() > 1e-4


def test_removal_and_gradients_of_a_translator(folder: Path) -> None:
    model: Any = load(str(folder))
    item = model.encode(Example("a", {"text": "3 May 1979"}))
    base, targets = model.predict([item])
    rng = np.random.default_rng(0)
    assert ("attention_mask" in model.operators) == ("transformer" in type(model.module).__name__.lower())
    for operator in model.operators:
        drop = np.arange(6) == 1
        changed = model.forward([model.remove(item, drop, operator, rng)], targets)
        assert np.isfinite(changed.value).all()
        assert abs(changed.value[0] - base.value[0]) > 1e-6
    slopes = slopes_at(model, [item], targets, [Point(a / 64) for a in range(1, 65)])[0]
    gap = slopes.end_values[0] - slopes.end_values[1]
    assert abs(slopes.dot.mean(0).sum() - gap) < 0.05 * max(1.0, abs(gap))


def test_capture_at_the_front_door_shows_the_alignment(folder: Path) -> None:
    seen = capture(str(folder), ["3 May 1979"], mode="weights", check="always")
    assert {site.site.kind for site in seen.sites} >= {"cross"}
    assert "check.always" in repr(seen.checked)


def test_generation_of_a_native_translator(folder: Path) -> None:
    model: Any = load(str(folder))
    _, (target,) = model.predict([model.encode(Example("a", {"text": "3 May 1979"}))])
    made = capture_generation(model, "3 May 1979", new_tokens=6)
    assert made.text == TARGET.join(target)
    assert made.made == tuple(TARGET.words[i] for i in target)
    cross = next(site for site in made.sites if site.site.kind == "cross")
    assert cross.shape[2:] == (len(target), 6)


ASPECTS = ["location", "price"]


def _classifier(folder: Path, **settings: Any) -> Vocabulary:
    torch.manual_seed(0)
    vocabulary = Vocabulary.build(["a clean but dear room in town"], min_count=1)
    network = AttentionClassifier(words=len(vocabulary), classes=2, size=8, hidden=4, **settings)
    with torch.no_grad():
        network.attention.query.mul_(5)
    facts = {"vocabulary": vocabulary.to_json(), "aspects": ASPECTS if settings.get("aspects") else []}
    save_checkpoint(
        folder, network, labels=["negative", "positive"], task="classification", modality="text", facts=facts
    )
    return vocabulary


def test_one_map_for_each_aspect(tmp_path: Path) -> None:
    _classifier(tmp_path, aspects=2)
    model: Any = load(str(tmp_path))
    texts = [("a clean but dear room", aspect) for aspect in ASPECTS]
    seen = capture(model, texts)
    (site,) = seen.sites
    assert seen.units[0].names == ("a", "clean", "but", "dear", "room")
    weights = site.dense().weights
    assert weights.shape == (2, 1, 1, 5)
    assert np.abs(weights[0] - weights[1]).max() > 1e-3
    item = model.encode(Example("a", {"text": "a clean but dear room", "text_pair": "price"}))
    _, targets = model.predict([item])
    assert read_rows(model, item, targets[0], site.site) == (0,)
    shorter = model.remove(item, np.arange(5) == 2, "delete", np.random.default_rng(0))
    assert model.forward([shorter], targets).value.shape == (1,)
    with pytest.raises(UnknownName, match="price"):
        model.encode(Example("a", {"text": "a room", "text_pair": "pric"}))
    with pytest.raises(InputError, match="location, price"):
        model.encode(Example("a", {"text": "a room"}))


def test_frozen_attention_by_example_id(tmp_path: Path) -> None:
    _classifier(tmp_path, attention="frozen")
    given = {"a": [0.5, 0.25, 0.25, 0.0], "b": [0.0, 1.0]}
    save_imposed(tmp_path, given)
    model: Any = load(str(tmp_path))
    examples = [Example("a", {"text": "a clean dear room"}), Example("b", {"text": "dear town"})]
    (site,) = capture(model, examples).sites
    np.testing.assert_allclose(site.dense().weights[:, 0, 0], [given["a"], [0, 1, 0, 0]], atol=1e-6)
    assert not model.notes
    (site,) = capture(model, Example("new", {"text": "clean room"})).sites
    np.testing.assert_allclose(site.dense().weights[0, 0, 0], [0.5, 0.5], atol=1e-6)
    assert model.notes == [Message.of("model_note.no_stored_attention", name="new")]
    item = model.encode(examples[0])
    _, targets = model.predict([item])
    less = model.remove(item, np.arange(4) == 0, "delete", np.random.default_rng(0))
    np.testing.assert_allclose(
        model.capture([less], targets).sites[0].dense().weights[0, 0, 0], [0.5, 0.5, 0.0], atol=1e-6
    )


def test_imposed_weights_on_disk(tmp_path: Path) -> None:
    save_imposed(tmp_path, {"é": [0.1, 0.9], "leer": []})
    again = load_imposed(tmp_path)
    assert list(again) == ["é", "leer"]
    np.testing.assert_array_equal(again["é"], np.float32([0.1, 0.9]))
    with pytest.raises(InputError, match="at least 0"):
        save_imposed(tmp_path, {"a": [-0.1]})
    (tmp_path / "imposed.safetensors").write_bytes(b"nothing")
    with pytest.raises(InputError, match="by example id"):
        load_imposed(tmp_path)


def test_a_forecaster(tmp_path: Path) -> None:
    torch.manual_seed(0)
    network = SeriesTransformer(channels=1, horizon=3, size=8).eval().requires_grad_(False)
    network.standardise.learn(torch.tensor([[40.0], [60.0]]))
    save_checkpoint(tmp_path, network, labels=[], task="forecasting", modality="series")
    model: Any = load(str(tmp_path))
    series = 50 + 10 * np.sin(np.arange(12.0))
    item = model.encode(Example("a", {"series": series[:, None]}))
    answers, targets = model.predict([item])
    expected = network(torch.tensor(series, dtype=torch.float32)[None, :, None])[0]
    assert targets == [0]
    np.testing.assert_allclose(answers.value, [float(expected[0])], rtol=1e-5)
    np.testing.assert_allclose(model.forward([item], [2]).value, [float(expected[2])], rtol=1e-5)
    assert len(model.capture([item], targets).sites) == 2


def test_trial_picture_has_the_shape_of_the_network(tmp_path: Path) -> None:
    """`regard support` tries methods on it: a picture of one channel for a network of one channel."""
    network = VisionTransformer(height=8, width=12, patch=4, classes=2, channels=1, size=8, heads=2)
    save_checkpoint(tmp_path, network.eval(), labels=["a", "b"], task="classification", modality="image", facts={})
    model: Any = load(str(tmp_path))
    trial = trial_input(model)
    assert trial is not None
    assert model.encode(trial).units.shape == (2, 3)
    wrapped = wrap(network, modality="image", patch=4, class_tokens=1, labels=["a", "b"], channels=1)
    grey = trial_input(wrapped)
    assert grey is not None
    assert grey.inputs["image"].shape == (64, 64, 1)
