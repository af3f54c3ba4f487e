"""ROAR on texts with one decisive word: removing it costs all accuracy, removing random words does not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from regard.datasets.read import read
from regard.errors import InputError, Unsupported
from regard.experiments._retraining import origin
from regard.experiments.remove_and_retrain import REMOVED, remove_and_retrain
from regard.models.open.load import load
from regard.protocols import Model
from regard.records import Example
from regard.testing.toy import ToyModel
from regard.training.train import read_splits, train

DATA = "planted:n=400,length=12"


@dataclass(frozen=True)
class Audit:
    model: Model
    examples: tuple[Example, ...]
    folder: Path
    seed: int = 0


def test_a_true_method_costs_more_accuracy_than_random_removal(tmp_path: Path) -> None:
    out = tmp_path / "model"
    settings = {"epochs": 12, "batch_size": 16, "rate": 0.03}
    train("classifier:encoder=average,size=8,hidden=8", DATA, out=out, settings=settings)
    study = Audit(load(out), tuple(read(DATA, split="test", limit=10)), tmp_path / "roar")
    scores = remove_and_retrain(study, explainers=("input_x_gradient",), shares=(0.1,), seeds=2)
    rows = {(s.metric, s.method): s for s in scores}
    assert set(rows) == {
        ("roar_accuracy", "random"), ("roar_accuracy", "input_x_gradient"), ("roar_loss", "input_x_gradient"),
    }  # fmt: skip
    assert rows["roar_accuracy", "random"].values.mean() > 0.7
    assert rows["roar_accuracy", "input_x_gradient"].values.mean() < 0.65
    loss = rows["roar_loss", "input_x_gradient"]
    assert (loss.values > 0.1).all()
    assert loss.where["seeds"] == [1, 2]
    assert loss.where["baseline"] == 0.0
    trained = sorted(path.name for path in (tmp_path / "roar").iterdir())
    assert trained == [f"roar-{m}-0.1-{seed}" for m in ("input_x_gradient", "random") for seed in (1, 2)]


def test_generated_data_keep_their_parameters_when_splits_are_read_one_by_one(tmp_path: Path) -> None:
    out = tmp_path / "model"
    splits = read_splits(DATA, lambda name: read(DATA, split=name, limit=None))  # as `regard train` does
    train("classifier:encoder=average,size=8,hidden=8", splits, out=out, settings={"epochs": 1})
    study = Audit(load(out), tuple(read(DATA, split="test", limit=10)), tmp_path / "roar")
    assert origin(study, "", "remove_and_retrain").splits.source == DATA
    assert remove_and_retrain(study, explainers=("input_x_gradient",), shares=(0.1,), seeds=1)
    record = out / "regard.json"  # records of earlier versions hold the bare name
    record.write_text(record.read_text("utf-8").replace(DATA, "planted"), "utf-8")
    with pytest.raises(Unsupported, match="another planted"):
        origin(study, "", "remove_and_retrain")
    assert origin(study, DATA, "remove_and_retrain").splits.source == DATA


def test_models_without_a_recipe_and_bad_settings_are_refused(tmp_path: Path) -> None:
    study = Audit(ToyModel(), (), tmp_path)
    with pytest.raises(Unsupported, match="trained by regard"):
        remove_and_retrain(study)
    with pytest.raises(InputError):
        remove_and_retrain(study, shares=(0.0,))
    assert len(REMOVED) == 1
