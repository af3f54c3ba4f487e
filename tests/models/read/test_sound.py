"""Sounds from a file to a report: read, spoilt, classified, explained, attacked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from regard.datasets.formats.sounds import read_wav, write_wav
from regard.datasets.read import read
from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.desk.questions import attacked
from regard.errors import InputError, Unsupported
from regard.experiments.certified import certified
from regard.models.open.load import load
from regard.records import Example, Threat
from regard.surveys.noise_table import noise_table, specs_of

RATE, SAMPLES = 8000, 2400


@pytest.fixture(scope="module")
def sounds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Low and high tones, each in a directory of its label."""
    home, rng = tmp_path_factory.mktemp("sounds"), np.random.default_rng(0)
    for i in range(6):
        label, pitch = (("low", 200), ("high", 900))[i % 2]
        (home / label).mkdir(exist_ok=True)
        tone = 0.5 * np.sin(2 * np.pi * pitch * np.arange(SAMPLES + 80 * i) / RATE)
        write_wav(home / label / f"{i}.wav", tone + 0.02 * rng.standard_normal(len(tone)), RATE)
    return home


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random Wav2Vec2 with its feature extractor, as transformers saves them."""
    home = tmp_path_factory.mktemp("model")
    torch.manual_seed(0)
    config = transformers.Wav2Vec2Config(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24, conv_dim=(8, 8, 8),
        conv_kernel=(10, 4, 4), conv_stride=(10, 8, 4), num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=2,
        classifier_proj_size=8, id2label={0: "high", 1: "low"}, label2id={"high": 0, "low": 1}, mask_time_prob=0.0,
        feat_extract_norm="layer", do_stable_layer_norm=True,
    )  # fmt: skip
    module = transformers.Wav2Vec2ForSequenceClassification(config).eval()
    with torch.no_grad():
        module.classifier.weight.mul_(200)
    module.save_pretrained(home)
    transformers.Wav2Vec2FeatureExtractor(sampling_rate=RATE, do_normalize=True).save_pretrained(home)
    return home


def test_wav_files_are_read_as_they_were_written(tmp_path: Path) -> None:
    sound = np.linspace(-1, 0.99, 50)
    write_wav(tmp_path / "a.wav", sound, 16000)
    back, rate = read_wav(tmp_path / "a.wav")
    assert rate == 16000
    assert np.abs(back - sound).max() <= 1 / 32768
    (tmp_path / "b.wav").write_bytes(b"RIFF no sound")
    with pytest.raises(InputError, match=r"\.wav file of plain samples"):
        read_wav(tmp_path / "b.wav")


def test_labels_are_directories(sounds: Path) -> None:
    data = read(str(sounds))
    assert data.labels == ("high", "low")
    assert [e.label for e in data] == ["high"] * 3 + ["low"] * 3
    assert data.notes == ("8000 samples per second",)
    assert len(read(str(sounds), limit=4)) == 4
    assert next(iter(read(str(sounds / "low" / "0.wav")))).label is None


def test_a_classifier_of_sounds_says_what_transformers_says(sounds: Path, folder: Path) -> None:
    """The normalisation of the feature extractor is inside; frames are units; lengths may differ."""
    model, examples = load(folder, device="cpu"), list(read(str(sounds)))
    assert (model.task, model.modality) == ("audio_classification", "audio")
    native = transformers.Wav2Vec2ForSequenceClassification.from_pretrained(folder).eval()
    extract = transformers.Wav2Vec2FeatureExtractor.from_pretrained(folder)
    case = DeskCase(Desk(model), examples, companions=examples)
    for i, example in enumerate(examples):
        given = extract(example.inputs["audio"], sampling_rate=RATE, return_tensors="pt").input_values
        with torch.no_grad():
            theirs = torch.softmax(native(given).logits, -1)[0].numpy()
            frames = int(native._get_feat_extract_output_lengths(len(example.inputs["audio"])))
        assert np.allclose(case.base().distribution[i], theirs, atol=1e-5)
        assert len(case.units[i]) == frames
        assert case.units[i].places[-1, 1] == len(example.inputs["audio"])
    assert len(case.attention(0)) == 2
    for method in ("attention", "input_x_gradient", "leave_one_out"):
        assert np.abs(case.relevance(method)[0]).sum() > 0
    other = Example("fast", {**examples[0].inputs, "rate": 16000})
    with pytest.raises(InputError, match="8000 samples per second"):
        model.encode(other)


def test_noise_attacks_and_certificates_of_sounds(sounds: Path, folder: Path) -> None:
    model, examples = load(folder, device="cpu"), list(read(str(sounds)))
    rows = noise_table(model, examples, specs_of(examples[0], ["all"]), (5,))
    assert {r.noise for r in rows} == {
        "none", "audio_noise", "audio_dropout", "audio_shift", "band_limit", "clipping", "gain"
    }  # fmt: skip
    by = {r.noise: r.change for r in rows}
    assert by["audio_noise"] > 0
    assert by["gain"] < 1e-4, "the model evens out how loud it is"
    case = DeskCase(Desk(model), [Example(e.id, e.inputs) for e in examples], companions=examples)
    found = attacked(case, "pgd:eps=0.3", Threat(budget=20))
    assert any(one.status == "success" for one in found)
    assert {s.metric for s in certified(case, samples=10, share=1.0)} >= {"abstained", "certified_radius"}


def test_models_of_spectrograms_are_refused_with_the_reason() -> None:
    config = transformers.ASTConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24, max_length=32, num_mel_bins=16
    )
    with pytest.raises(Unsupported, match="raw samples"):
        load(transformers.ASTForAudioClassification(config))
