"""A Hugging Face translator, its pairs with Pharaoh links, and the alignment of its words: one path."""

from __future__ import annotations

from pathlib import Path

import pytest

import regard
from regard.datasets.read import read
from regard.sources.marian import marian
from regard.surveys.align import align
from regard.training import marian_training


def test_directory_pairs_and_links_go_through_to_an_error_rate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path))
    monkeypatch.setattr(marian_training, "TRAINED_ON", 60)
    monkeypatch.setattr(marian_training, "TESTED", 12)
    directory = Path(marian(steps=3))
    model = regard.load(str(directory))
    assert model.task == "sequence_to_sequence"
    pairs = list(read(str(directory / marian_training.PAIRS), limit=12))
    assert all(pair.alignment for pair in pairs)
    result = align(model, pairs, use_labels=True, seed=0).to_json()
    assert result["rule"] == "gold"
    assert "'low'" in str(result)
    assert "'n': 6" in str(result)  # judged on the half that it was not chosen on
