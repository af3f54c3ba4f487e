"""Anomaly scores as decisions: the residual of the window that is read, and maps that point at a planted anomaly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import regard
from regard.audits.options import AuditOptions
from regard.audits.trained_from_file import read_for
from regard.errors import InputError
from regard.models.anomaly_score import QUANTILE, AnomalyModel, anomaly_of
from regard.records import Example, Floats

STEPS = 12


class Smoother(nn.Module):
    """Gives back the attention-weighted mean of the window at every step."""

    def forward(self, series: Tensor) -> Tensor:
        weights = torch.softmax(0.1 * series @ series.transpose(1, 2), -1)
        return weights @ series


class Mean(nn.Module):
    """A score of its own: the mean of the window."""

    def forward(self, series: Tensor) -> Tensor:
        return series.mean((1, 2))


def windows(count: int, spike: float = 0.0) -> list[Example]:
    rng = np.random.default_rng(int(spike))
    items = []
    for i in range(count):
        series = rng.normal(0, 0.2, (STEPS, 1))
        place = int(rng.integers(STEPS))
        series[place] += spike
        items.append(Example(f"w{i}", {"series": series}, int(spike > 0), ((place, place + 1.0),) if spike else None))
    return items


def score_of(series: Floats) -> float:
    """Independent of torch: the root of the mean squared residual of the smoother."""
    x = series.astype(np.float64)
    weights = np.exp(0.1 * x @ x.T)
    return float(np.sqrt(np.mean((x - weights / weights.sum(1, keepdims=True) @ x) ** 2)))


@pytest.fixture(scope="module")
def detector() -> AnomalyModel:
    return anomaly_of(regard.wrap(Smoother(), modality="series", task="forecasting"), windows(40))


def test_score_and_threshold_are_those_of_numpy(detector: AnomalyModel) -> None:
    normal = [score_of(e.inputs["series"]) for e in windows(40)]
    assert detector.level.threshold == pytest.approx(np.quantile(normal, QUANTILE), rel=1e-4)
    one = windows(1, spike=3.0)[0]
    answers, targets = detector.predict([detector.encode(one)])
    expected = (score_of(one.inputs["series"]) - detector.level.threshold) / detector.level.spread
    assert targets == [1]
    assert answers.value[0] == pytest.approx(expected, rel=1e-4)


def test_explanations_point_at_the_planted_step(detector: AnomalyModel) -> None:
    """Also by gradients, which must pass through the window that the reconstruction is compared with."""
    anomalies = windows(10, spike=3.0)
    explained = regard.explain(detector, anomalies, ["leave_one_out", "integrated_gradients", "lrp"])
    assert set(explained.relevance) == {"leave_one_out", "integrated_gradients"}
    assert set(explained.skipped) == {"lrp"}
    assert "through which no relevance passes. Try: integrated_gradients" in str(explained.skipped["lrp"])
    for method, relevance in explained.relevance.items():
        places = [int(np.argmax(row)) for row in relevance]
        assert places == [int(e.rationale[0][0]) for e in anomalies if e.rationale], method
    error, whole = (explained.relevance["integrated_gradients"].extras[n] for n in ("completeness_error", "difference"))
    assert np.all(np.abs(error) < 0.1 * np.abs(whole))


def test_score_of_its_own_is_taken_as_it_is() -> None:
    normal = windows(20)
    model = anomaly_of(regard.wrap(Mean(), modality="series", task="forecasting"), normal)
    assert model.scores(normal) == pytest.approx([float(e.inputs["series"].mean()) for e in normal], abs=1e-6)
    with pytest.raises(InputError, match="at least 10 normal windows"):
        anomaly_of(model, normal[:9])


def test_trained_detector_finds_and_points_at_marked_steps(tmp_path: Path) -> None:
    """From a recording with marks; the windows it learns from have none."""
    rng, total = np.random.default_rng(0), 1600
    values, marks = np.sin(np.arange(total) * np.pi / 8) + rng.normal(0, 0.1, total), np.zeros(total, int)
    for start in range(20, total - 20, 67):
        values[start : start + 2], marks[start : start + 2] = values[start : start + 2] + 2, 1
    lines = [f"{i},{v:.4f},{m}" for i, (v, m) in enumerate(zip(values, marks, strict=True))]
    (tmp_path / "pump.csv").write_text("\n".join(["t,pressure,anomaly", *lines]))
    options = AuditOptions(window=16)
    train, dev, held_out = (read_for("anomaly", tmp_path / "pump.csv", options, s) for s in ("train", "dev", "test"))
    regard.train("anomaly", (train, dev, held_out), out=tmp_path / "model", settings={"epochs": 12})
    model = regard.load(tmp_path / "model")
    test = [window for part in (dev, held_out) for example in part for window in model.windows(example)]
    _, targets = model.predict([model.encode(example) for example in test])
    right = [target == example.label for target, example in zip(targets, test, strict=True)]
    assert np.mean(right) > 0.8
    alarms = [e for e, target in zip(test, targets, strict=True) if e.label == target == 1]
    rows = regard.explain(model, alarms, ["leave_one_out"]).relevance["leave_one_out"]
    hits = [
        bool(e.rationale and e.rationale[0][0] <= np.argmax(row[1:]) < e.rationale[0][1])
        for e, row in zip(alarms, rows, strict=True)
    ]
    assert len(hits) >= 4
    assert np.mean(hits) > 0.8
