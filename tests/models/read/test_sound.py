"""Sounds from a file to a report: read, spoilt, classified, explained, attacked."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

import regard
from regard.datasets.formats.sounds import wav_inputs, write_wav
from regard.datasets.read import read
from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.desk.questions import attacked
from regard.errors import InputError
from regard.experiments.certified import certified
from regard.measures.resampling import METHOD, resampled
from regard.message import Message
from regard.models.capture import capture
from regard.models.open.load import load
from regard.models.trial_input import trial_input
from regard.records import Example, Floats, Threat
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
    inputs = wav_inputs(tmp_path / "a.wav")
    assert inputs["rate"] == 16000
    assert set(inputs) == {"audio", "rate"}
    assert np.abs(inputs["audio"] - sound).max() <= 1 / 32768
    (tmp_path / "b.wav").write_bytes(b"RIFF no sound")
    with pytest.raises(InputError, match=r"\.wav file of plain samples"):
        wav_inputs(tmp_path / "b.wav")


def _riff(kind: int, bits: int, raw: bytes, *, channels: int = 1, subtype: int | None = None) -> bytes:
    """A .wav file by hand, with an odd chunk before the format and one before the samples."""
    frame = bits // 8 * channels
    form = struct.pack("<HHIIHH", kind, channels, RATE, RATE * frame, frame, bits)
    form += b"" if subtype is None else struct.pack("<HHIH14x", 22, bits, 0, subtype)
    chunks = [(b"JUNK", b"abc"), (b"fmt ", form), (b"fact", b"0000"), (b"data", raw)]
    body = b"".join(n + struct.pack("<I", len(c)) + c + b"\0" * (len(c) % 2) for n, c in chunks)
    return b"RIFF" + struct.pack("<I", len(body) + 4) + b"WAVE" + body


def test_floats_and_extensible_headers_are_read(tmp_path: Path) -> None:
    sound = np.linspace(-0.9, 0.9, 60)
    stereo = np.stack([sound, -sound], 1)

    def whole(values: Floats) -> bytes:
        return np.rint(values * 32768).astype("<i2").tobytes()

    forms = {
        "f32": (_riff(3, 32, sound.astype("<f4").tobytes()), sound, 1e-7),
        "f64": (_riff(0xFFFE, 64, sound.astype("<f8").tobytes(), subtype=3), sound, 0),
        "i16": (_riff(0xFFFE, 16, whole(stereo), channels=2, subtype=1), 0 * sound, 1e-4),
        "cut": (_riff(1, 16, whole(sound))[:-40], sound[:40], 1e-4),
    }
    for name, (content, expected, near) in forms.items():
        (tmp_path / name).write_bytes(content)
        inputs = wav_inputs(tmp_path / name)
        back = inputs["audio"]
        assert inputs["rate"] == RATE
        assert inputs.get("missing_seconds", 0) == (20 / RATE if name == "cut" else 0), name
        assert inputs.get("channels", 1) == (2 if name == "i16" else 1), name
        assert len(back) == len(expected), name
        assert np.abs(back - expected).max() <= near, name


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"12345", "ends too early"),
        (b"ID3" + bytes(60), "without the header"),
        (_riff(85, 16, bytes(8)), r"compressed samples \(format 85\)"),
        (_riff(1, 12, bytes(8)), "12 bits"),
        (_riff(3, 32, np.array([np.nan], "<f4").tobytes()), "NaN"),
        (_riff(1, 16, b""), "got none"),
    ],
)
def test_other_content_is_one_error(content: bytes, problem: str, tmp_path: Path) -> None:
    (tmp_path / "low").mkdir()
    (tmp_path / "low" / "a.wav").write_bytes(content)
    with pytest.raises(InputError, match=problem):
        wav_inputs(tmp_path / "low" / "a.wav")
    with pytest.raises(InputError, match="--skip-bad"):
        read(str(tmp_path))


def test_sounds_of_other_formats_are_named(tmp_path: Path) -> None:
    (tmp_path / "low").mkdir()
    (tmp_path / "low" / "a.mp3").write_bytes(b"ID3")
    with pytest.raises(InputError, match=r"other formats \(\.mp3\).*ffmpeg"):
        read(str(tmp_path))


def test_labels_are_directories(sounds: Path) -> None:
    data = read(str(sounds))
    assert data.labels == ("high", "low")
    assert [e.label for e in data] == ["high"] * 3 + ["low"] * 3
    assert [str(note) for note in data.notes] == ["8000 samples per second"]
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
    file = sounds / "low" / "0.wav"
    by_path, by_samples = (capture(model, sound) for sound in (str(file), wav_inputs(file)["audio"]))
    explained = regard.explain(model, [file], ["attention"])
    assert explained.examples[0].id == "0.wav"
    assert by_path.answers.value[0] == by_samples.answers.value[0] == explained.answers.value[0]
    other = Example("fast", {**examples[0].inputs, "rate": 16000})
    assert model.encode(other).arrays["input_values"].shape == (len(examples[0].inputs["audio"]) // 2,)
    model.encode(Example("short.wav", {**examples[0].inputs, "missing_seconds": 1.5, "channels": 2}))
    notes = {note.key: note.params for note in model.reader.notes() if isinstance(note, Message)}
    assert notes["data.averaged_channels"] == {"channels": 2}
    cut = notes["data.cut_sound"]
    assert (cut["name"], cut["missing"]) == ("short.wav", 1.5)
    assert model.baselines[0] == "resample", "a path from silence only changes how loud a standardised sound is"
    relevance = case.relevance("integrated_gradients")
    error, whole = relevance.extras["completeness_error"], relevance.extras["difference"]
    assert np.all(np.abs(error) < 0.1 * np.abs(whole) + 0.05)
    assert Message.of("data.resampled", rate=16000, to=8000, method=METHOD) in model.notes


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


def test_patches_of_a_spectrogram_are_units(sounds: Path, tmp_path: Path) -> None:
    """AST: the prediction is that of transformers, and every patch owns the entries that begin with it."""
    torch.manual_seed(0)
    config = transformers.ASTConfig(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24, max_length=32,
        num_mel_bins=24, patch_size=8, frequency_stride=8, time_stride=6, id2label={0: "high", 1: "low"},
    )  # fmt: skip
    module = transformers.ASTForAudioClassification(config).eval()
    extract = transformers.ASTFeatureExtractor(sampling_rate=RATE, max_length=32, num_mel_bins=24)
    module.save_pretrained(tmp_path)
    extract.save_pretrained(tmp_path)
    model, examples = load(tmp_path, device="cpu"), list(read(str(sounds)))[:2]
    case = DeskCase(Desk(model), examples, companions=examples)
    for i, example in enumerate(examples):
        values = extract(example.inputs["audio"], sampling_rate=RATE, return_tensors="pt").input_values
        with torch.no_grad():
            theirs = torch.softmax(module(values.float()).logits, -1)[0].numpy()
        assert np.allclose(case.base().distribution[i], theirs, atol=1e-5)
    assert model.baselines[0] == "quiet"
    trial = trial_input(model)
    assert trial is not None
    assert len(model.encode(trial).units) == len(case.units[0])
    units = case.units[0]
    assert units.shape == (3, 5)
    assert units.names[2] == "0.00s b0"
    assert case.attention(0)[0].shape[3] == len(units), "a key for every patch and both class tokens"
    item = model.encode(examples[0])
    gone = np.arange(len(units)) == 2 + 5 + 1  # second row of bands, second step of time
    changed = model.remove(item, gone, "quiet", np.random.default_rng(0)).arrays["input_values"]
    rows, columns = np.nonzero(changed != item.arrays["input_values"])
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (6, 11, 8, 15)
    for method in ("attention", "input_x_gradient", "leave_one_out"):
        assert np.abs(case.relevance(method)[0]).sum() > 0


def test_a_tone_keeps_its_pitch_and_aliases_are_gone() -> None:
    time = np.arange(22050) / 22050
    low, high = np.sin(2 * np.pi * 1000 * time), np.sin(2 * np.pi * 9000 * time)
    kept, gone = resampled(low, 22050, 16000), resampled(high, 22050, 16000)
    assert len(kept) == 16000
    assert np.abs(kept - np.sin(2 * np.pi * 1000 * np.arange(16000) / 16000))[200:-200].max() < 1e-4
    assert np.abs(gone[200:-200]).max() < 1e-3, "9 kHz would fold to 7 kHz"


@pytest.mark.parametrize(
    ("sound", "problem"),
    [(np.zeros((2, 400)), "one channel"), (np.zeros(400, np.int16), "whole numbers"), (np.zeros(3), "one frame")],
)
def test_unreadable_sounds_are_refused_in_one_line(sound: np.ndarray, problem: str, folder: Path) -> None:
    with pytest.raises(InputError, match=problem):
        load(folder, device="cpu").encode(Example("x", {"audio": sound, "rate": RATE}))


def test_silence_has_an_answer(folder: Path) -> None:
    model = load(folder, device="cpu")
    answers, _ = model.predict([model.encode(Example("quiet", {"audio": np.zeros(SAMPLES), "rate": RATE}))])
    assert np.isfinite(answers.value).all()
