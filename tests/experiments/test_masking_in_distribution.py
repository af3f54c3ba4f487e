"""Masked inputs are unusual for a model that never saw masks, and usual for one that learned from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from regard.datasets.read import read
from regard.errors import Unsupported
from regard.experiments.masking_in_distribution import masking_in_distribution
from regard.measures.in_distribution import LEVEL, input_p_values, too_many
from regard.models.open.load import load
from regard.protocols import Model
from regard.records import Example, Score
from regard.testing.toy import ToyModel
from regard.training.train import train

DATA = "planted:n=800,length=12"


@dataclass(frozen=True)
class Audit:
    model: Model
    examples: tuple[Example, ...]
    folder: Path
    seed: int = 0


def masked_scores(folder: Path, masking: float) -> Sequence[Score]:
    learner = f"classifier:size=16,hidden=16,noise=0,masking={masking}"
    train(learner, DATA, out=folder, settings={"epochs": 12, "batch_size": 32, "rate": 0.01})
    study = Audit(load(folder), tuple(read(DATA, split="test", limit=60)), folder)
    return [s for s in masking_in_distribution(study) if s.method == "model"]


def test_an_ordinary_model_fails_and_a_mask_tuned_one_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_twin(self: object, model: Model) -> Model:
        raise Unsupported("twin", expected="one", got="none")

    monkeypatch.setattr("regard.desk.changes.MaskTuned.model", no_twin)
    ordinary, tuned = (masked_scores(tmp_path / str(masking), masking) for masking in (0.0, 0.5))
    assert [s.where["masked"] for s in ordinary] == ["10%", "20%", "50%"]
    assert min(float(str(s.where["corrected"])) for s in ordinary) < 0.001
    assert float(str(ordinary[-1].where["rejected_low"])) > 0.5
    assert all(float(str(s.where["corrected"])) > 0.05 for s in tuned)
    assert all(float(str(s.where["rejected"])) <= 0.1 for s in tuned)
    for score in (*ordinary, *tuned):
        low, share, high = (float(str(score.where[k])) for k in ("rejected_low", "rejected", "rejected_high"))
        assert low <= share == np.mean(score.values <= LEVEL) <= high


def test_inputs_of_the_reference_are_rejected_at_the_level() -> None:
    rng = np.random.default_rng(0)
    single, whole = [], []
    for _ in range(200):
        rows = rng.standard_normal((140, 1)) @ rng.standard_normal((1, 6)) + 0.3 * rng.standard_normal((140, 6))
        each, together = input_p_values(rows[:50], rows[50:110], rows[110:])
        single.append(np.mean(each <= LEVEL))
        whole.append(together <= LEVEL)
    assert np.mean(single) <= LEVEL + 0.01, "dependent features keep the level of each input"
    assert np.mean(whole) <= LEVEL + 0.03, "and that of all inputs together"


def test_the_count_of_unusual_inputs_is_beta_binomial() -> None:
    """Against draws: ranks of exchangeable numbers."""
    rng = np.random.default_rng(1)
    draws = rng.random((20_000, 39 + 10))
    threshold = np.sort(draws[:, :39], axis=1)[:, 3]  # the fourth smallest of 39: level 0.1
    counts = (draws[:, 39:] < threshold[:, None]).sum(1)
    for count in (1, 2, 4):
        assert too_many(count, 10, 39, level=0.1) == pytest.approx(np.mean(counts >= count), abs=0.01)


def test_a_model_that_cannot_be_looked_into_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="reads a mask"):
        masking_in_distribution(Audit(ToyModel(), (), tmp_path))
