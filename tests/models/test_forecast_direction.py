"""Forecasts as decisions: above or below the last value; linear in the forecast, and fixed while units are removed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import PatchTSTConfig, PatchTSTForPrediction

import regard
from regard.audits.options import AuditOptions
from regard.audits.resolve import resolve
from regard.errors import Unsupported
from regard.models.forecast_direction import DirectionModel, direction_of
from regard.models.open.load import load
from regard.records import Example

WINDOW, HORIZON = 24, 3
SERIES = np.sin(np.arange(200) / 3.0) + np.random.default_rng(0).normal(0, 0.1, 200)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    config = PatchTSTConfig(
        num_input_channels=1,
        context_length=WINDOW,
        prediction_length=HORIZON,
        patch_length=4,
        patch_stride=4,
        d_model=16,
        num_attention_heads=2,
        num_hidden_layers=2,
        ffn_dim=16,
        init_std=0.3,
    )
    path = tmp_path_factory.mktemp("patchtst")
    PatchTSTForPrediction(config).eval().save_pretrained(path)
    return path


def _window(start: int = 0) -> Example:
    ahead = SERIES[start + WINDOW : start + WINDOW + HORIZON].tolist()
    return Example(f"w{start}", {"series": SERIES[start : start + WINDOW, None]}, ahead)


def test_forecast_of_transformers_is_read_by_its_task(directory: Path) -> None:
    live: Any = load(str(directory))
    assert live.task == "forecasting"
    answers, targets = live.predict([live.encode(_window())])
    past = torch.tensor(SERIES[None, :WINDOW, None], dtype=torch.float32)
    with torch.no_grad():
        forecast = PatchTSTForPrediction.from_pretrained(directory).eval()(past_values=past).prediction_outputs
    assert targets == [0]
    assert answers.value[0] == pytest.approx(float(forecast[0, 0, 0]), abs=1e-5)


def test_direction_is_linear_in_the_forecast_and_keeps_its_threshold(directory: Path) -> None:
    plain: Any = load(str(directory))
    model = direction_of(plain)
    item = model.encode(_window())
    last, scale = SERIES[WINDOW - 1], np.std(np.diff(SERIES[:WINDOW]))
    removed = model.remove(item, np.ones(len(item.units), bool), "mean", np.random.default_rng(0))
    for one in (item, removed):
        forecast = plain.forward([one], [0]).value[0]
        rise = model.forward([one], [1])
        assert rise.value[0] == pytest.approx((forecast - last) / scale, rel=1e-4)
        assert rise.distribution is not None
        assert rise.distribution[0].sum() == pytest.approx(1)
        assert model.forward([one], [0]).value[0] == pytest.approx(-rise.value[0])


def test_label_is_the_true_direction(directory: Path) -> None:
    model = direction_of(load(str(directory)))
    for start in range(0, 60, 7):
        (window,) = model.windows(_window(start))
        expected = "rise" if SERIES[start + WINDOW] > SERIES[start + WINDOW - 1] else "fall"
        assert window.label == expected
    assert model.windows(Example("x", {"series": SERIES[:WINDOW, None]}))[0].label is None


def test_audit_asks_for_the_direction_and_a_worker_finds_it_again(directory: Path) -> None:
    subject, _ = resolve(str(directory), [_window(k) for k in (0, 30)], AuditOptions())
    assert isinstance(subject.model, DirectionModel)
    assert subject.model.spec is not None
    again = load(str(directory), task="forecast_direction")
    assert isinstance(again, DirectionModel)
    assert again.fingerprint == subject.model.fingerprint
    explained = regard.explain(again, _window(), ["attention", "lrp", "leave_one_out"])
    assert not explained.skipped
    assert explained.names[0] in ("rise", "fall")


def test_other_models_have_no_direction() -> None:
    with pytest.raises(Unsupported, match="forecasts numbers"):
        direction_of(regard.wrap(torch.nn.Linear(3, 2), modality="tabular", labels=["a", "b"], columns=["x", "y", "z"]))
