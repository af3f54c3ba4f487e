"""Classifiers of sounds from a directory and a folder of recordings to an audited run."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import pytest

import regard
from regard.datasets.builtin.planted_sounds import RATE, planted_sounds
from regard.sources.listener import listener
from regard.training import sound_training


def test_evidence_is_where_the_rationale_says() -> None:
    for example in planted_sounds(n=6, seed=3):
        spectrum = np.abs(np.fft.rfft(example.inputs["audio"]))
        pitch = np.argmax(spectrum) * RATE / len(example.inputs["audio"])
        if example.rationale is None:
            assert example.label == "none"
            continue
        assert pitch == pytest.approx({"low": 500, "high": 1500}[str(example.label)], abs=10)
        start, stop = (int(edge) for edge in example.rationale[0])
        power = np.square(example.inputs["audio"])
        assert power[start:stop].mean() > 5 * np.delete(power, np.arange(start, stop)).mean()


@pytest.mark.parametrize("kind", ["wav2vec2", "ast"])
def test_folder_of_recordings_is_audited(
    kind: Literal["wav2vec2", "ast"], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sound_training, "TRAINED_ON", 36)
    monkeypatch.setattr(sound_training, "TESTED", 6)
    directory = Path(listener(kind=kind, steps=2))
    run = regard.audit(
        str(directory),
        str(directory / sound_training.RECORDINGS),
        out=tmp_path / "run",
        explainers=["attention", "integrated_gradients", "random"],
        metrics=["comprehensiveness"],
        experiments=[],
        limit=3,
        budget="none",
    )
    assert not run.problems()
    assert {row["label"] for row in run.examples()} == {"low", "high", "none"}
    assert set(run.methods()) == {"attention", "integrated_gradients", "random"}
