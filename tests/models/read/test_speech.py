"""A model that writes what it hears: features, transcript, objective, attention rows and steps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models
import torch
import transformers

from regard.desk.case import DeskCase
from regard.desk.desk import Desk
from regard.errors import InputError, Unsupported
from regard.experiments._map import maps
from regard.explainers._alignment import rows_read
from regard.models.capture_generation import capture_generation
from regard.models.open.load import load, rebuild
from regard.models.open.sound_models import sound_front
from regard.models.sound_segments import in_segments
from regard.models.writing_steps import STEPS, StepModel, steps_of
from regard.records import Example

RATE = 16000


def heard(seconds: float, seed: int = 0) -> Example:
    """A tone that glides upwards, with some noise."""
    time = np.arange(int(seconds * RATE)) / RATE
    noise = 0.05 * np.random.default_rng(seed).standard_normal(len(time))
    wave = 0.4 * np.sin(2 * np.pi * (200 + 300 * time + 50 * seed) * time) + noise
    return Example(f"tone {seed}", {"audio": wave, "rate": RATE})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return tiny_models.whisper(tmp_path_factory.mktemp("whisper"))


@pytest.fixture(scope="module")
def model(folder: str) -> Any:
    return load(folder, device="cpu")


@pytest.fixture(scope="module")
def native(folder: str) -> Any:
    return transformers.WhisperForConditionalGeneration.from_pretrained(folder).eval()


@pytest.fixture(scope="module")
def features(folder: str) -> Any:
    extractor = transformers.WhisperFeatureExtractor.from_pretrained(folder)
    return lambda example: (
        extractor(example.inputs["audio"].astype(np.float32), sampling_rate=RATE, return_tensors="pt").input_features
    )


def test_features_are_those_of_the_feature_extractor(model: Any, folder: str, features: Any) -> None:
    front = sound_front(model.module, transformers.WhisperProcessor.from_pretrained(folder))
    assert front is not None
    example = heard(0.7)
    ours = front({"samples": torch.from_numpy(example.inputs["audio"].astype(np.float32))[None]})["input_features"]
    assert torch.allclose(ours, features(example), atol=1e-5)


def test_transcript_and_objective_are_those_of_transformers(model: Any, native: Any, features: Any) -> None:
    """Greedy search step by step without a cache; the objective leaves out the token that the writer was given."""
    assert (model.task, model.modality) == ("sequence_to_sequence", "audio")
    examples = [heard(0.5 + 0.2 * i, i) for i in range(2)]
    answers, targets = model.predict([model.encode(example) for example in examples])
    (given,), start, end = model.traits.forced, native.config.decoder_start_token_id, native.config.eos_token_id
    for i, example in enumerate(examples):
        ids, value = [given], 0.0
        while len(ids) < 23 and ids[-1] != end:
            with torch.no_grad():
                logits = native(
                    input_features=features(example), decoder_input_ids=torch.tensor([[start, *ids]])
                ).logits[0, -1]
            allowed = logits.clone()
            allowed[[start, given, given + 1, *([0, end] if len(ids) == 1 else [])]] = float("-inf")
            ids.append(int(allowed.argmax()))
            value += float(torch.log_softmax(logits, -1)[ids[-1]])
        assert targets[i] == ids
        assert answers.value[i] == pytest.approx(value, abs=1e-3)


def test_generation_of_a_sound_is_captured(model: Any) -> None:
    generated = capture_generation(model, heard(0.6), new_tokens=6)
    assert generated.made[0] == "<|notimestamps|>"
    assert len(generated.made) <= 7
    cross = [site for site in generated.sites if site.site.kind == "cross"]
    assert [site.shape for site in cross] == [(1, 2, len(generated.made), 50)] * 2
    assert len(generated.units[0]) == 30, "frames of 20 ms; the silence behind the sound belongs to none"
    again = capture_generation(model, heard(0.6).inputs["audio"], new_tokens=6)
    assert again.made == generated.made


def test_removed_frames_are_silent_and_relevances_of_silence_are_zero(model: Any) -> None:
    quiet = Example("half", {"audio": np.concatenate([heard(0.4).inputs["audio"], np.zeros(3200)]), "rate": RATE})
    case = DeskCase(Desk(model), [quiet], companions=[quiet])
    relevance = case.relevance("leave_one_out:operator=silence")[0]
    assert np.abs(relevance[:20]).max() > 0
    assert np.abs(relevance[21:]).max() < 1e-4, "silence for silence changes nothing but rounding"
    assert np.allclose(case.relevance("input_x_gradient")[0][21:], 0, atol=1e-4)
    assert case.relevance("attention")[0].sum() == pytest.approx(1)


def test_a_step_is_a_question_about_one_token_and_one_row(model: Any, native: Any, features: Any) -> None:
    asked = steps_of(model)
    steps = asked.windows(heard(0.8, 3))
    assert 1 <= len(steps) <= STEPS
    assert {step.parent for step in steps} == {"tone 3"}
    case = DeskCase(Desk(asked), steps, companions=steps)
    for i, step in enumerate(steps):
        *before, token = step.inputs["written"]
        ids = torch.tensor([[native.config.decoder_start_token_id, *before]])
        with torch.no_grad():
            out = native(input_features=features(step), decoder_input_ids=ids)
        p = float(torch.softmax(out.logits[0, -1], -1)[token])
        assert case.targets[i] == token
        assert case.base().probability[i] == pytest.approx(p, abs=1e-4)
        assert case.base().distribution[i].tolist() == pytest.approx([1 - p, p], abs=1e-4)
        cross = [site for site in case.attention(i) if site.site.kind == "cross"][-1]
        assert tuple(rows_read(case, i, cross)) == (len(before),)


def test_steps_of_a_recording_share_its_encoder_pass(model: Any) -> None:
    """Known answer: as many encoder rows as there are different sounds, and the answers of a model without memory."""
    asked, plain = steps_of(model), steps_of(model)
    plain._encoder = None
    asked_memory = asked._encoder
    assert asked_memory is not None
    steps = [step for seed in (3, 4) for step in asked.windows(heard(0.8, seed))]
    assert asked_memory.computed == 2
    earlier = [replace(step, inputs={**step.inputs, "written": step.inputs["written"][:-1]}) for step in steps]
    items = [asked.encode(step) for step in (*steps, *earlier)]
    targets = [int(item.aside["written"][-1]) for item in items]
    for _ in range(2):
        assert asked.forward(items, targets).value == pytest.approx(plain.forward(items, targets).value, abs=1e-4)
    assert asked_memory.computed == 2
    drop = np.arange(len(items[0].units)) == 5
    gone = [asked.remove(item, drop, "silence", np.random.default_rng(0)) for item in items]
    assert asked.forward(gone, targets).value == pytest.approx(plain.forward(gone, targets).value, abs=1e-4)
    assert asked_memory.computed == 4
    sites = [s.site.key for s in asked.capture(items[:1], targets[:1]).sites]
    assert any(".encoder.layers" in key for key in sites), "the tap looks into the encoder, which therefore runs"
    with torch.no_grad():
        weight = model.module.get_encoder().conv1.weight
        weight *= 2
        try:
            assert asked.forward(items, targets).value == pytest.approx(plain.forward(items, targets).value, abs=1e-4)
            assert asked_memory.computed == 6
        finally:
            weight /= 2


def test_steps_are_rebuilt_from_their_spec(model: Any) -> None:
    asked = steps_of(model)
    again = rebuild(asked.spec)
    assert isinstance(again, StepModel)
    assert [s.inputs["written"] for s in again.windows(heard(0.8))] == [
        s.inputs["written"] for s in asked.windows(heard(0.8))
    ]


def test_a_sound_longer_than_the_context_is_refused(model: Any) -> None:
    with pytest.raises(InputError, match="at most 1 second"):
        model.encode(heard(1.2))


def test_segments_gather_the_frames_of_their_samples(model: Any) -> None:
    frames, segments = steps_of(model), in_segments(steps_of(model), 0.1)
    (step, *_) = frames.windows(heard(0.83, 3))
    small, large = frames.encode(step), segments.encode(step)
    assert len(large.units) == 8  # the last 0.03 seconds join the segment before
    assert large.units.key_counts.tolist() == [5, 5, 5, 5, 5, 5, 5, 6]
    assert large.units.positions == len(small.units) == large.length
    per_frame, per_segment = (DeskCase(Desk(m), [step]).relevance("attention")[0] for m in (frames, segments))
    sums = np.add.reduceat(per_frame, large.units.keys)
    assert per_segment == pytest.approx(sums, abs=1e-6)
    drop = np.zeros(len(large.units), bool)
    drop[2] = True
    gone = segments.remove(large, drop, "silence", np.random.default_rng(0)).arrays["samples"]
    same = frames.remove(small, np.repeat(drop, large.units.key_counts), "silence", np.random.default_rng(0))
    assert (gone == same.arrays["samples"]).all()
    assert rebuild(segments.spec).reader.segment == 0.1
    assert model.reader.segment == 0  # the model itself still reads frames


def test_named_segments_are_kept(model: Any) -> None:
    assert in_segments(model).reader.segment == 0.1
    assert in_segments(in_segments(model, 0.3)).reader.segment == 0.3  # the default of an audit does not replace them
    with pytest.raises(InputError, match="above 0"):
        in_segments(model, -0.2)


def test_segments_of_a_model_without_frames_are_refused(tmp_path: Path) -> None:
    writer = load(tiny_models.bart(tmp_path), device="cpu")
    assert in_segments(writer) is writer
    with pytest.raises(Unsupported, match="reads frames of sound"):
        in_segments(writer, 0.2)


def test_weights_of_a_segment_keep_their_shares_among_its_frames(model: Any) -> None:
    segments = in_segments(steps_of(model), 0.1)
    step = segments.windows(heard(0.83, 3))[0]
    case = DeskCase(Desk(segments), [step])
    (m,) = maps(case, "last", "mean", "test")
    (site,) = [s for s in case.attention(0) if s.site.key == m.reads[0].site]
    own = np.asarray(site.rows(0, m.reads[0].queries))
    (same,) = m.moved(np.arange(len(m)))
    assert same.values == pytest.approx(own[:, :, list(same.keys)], abs=1e-6)
    (single,) = m.single(3)
    assert single.values.sum(-1) == pytest.approx(same.values.sum(-1), abs=1e-6)
    assert (single.values[..., m.sites[0].owner != 3] == 0).all()
