"""Audits of models that write: step by step, down to verdicts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import tiny_models

from regard.audits.audit import audit
from regard.judge.verdicts import verdicts
from regard.records import Example


def test_audit_of_a_writer_ends_in_verdicts(tmp_path: Path) -> None:
    data = [Example(f"text {i}", {"text": text}) for i, text in enumerate(tiny_models.TEXTS[:6])]
    model = tiny_models.bart(tmp_path / "model")
    run = audit(model, data, out=tmp_path / "run", profile="quick", budget="200 passes", keep=1)
    assert run.manifest["model"]["task"] == "written_token"
    examples = run.examples()
    assert all(len(example["distribution"]) == 2 for example in examples if example["distribution"])
    assert {example["cluster"] for example in examples} <= {example.id for example in data}
    (first, *_) = verdicts(run.path)
    asked = {verdict.question: verdict for verdict in first.verdicts}
    assert {"map", "matter", "points", "exclusive"} <= set(asked)
    assert first.n == sum(
        example["probability"] is not None and example["distribution"] is not None for example in examples
    )
    assert asked["map"].contrasts, "the rows of single steps were measured"
    assert "same" not in asked or not asked["same"].contrasts or asked["same"].answer == "uninformative"


def test_segment_of_an_audit_is_the_unit_of_its_sounds(tmp_path: Path) -> None:
    model = tiny_models.whisper(tmp_path / "model")
    tone = 0.4 * np.sin(2 * np.pi * 300 * np.arange(12800) / 16000)
    data = [Example("tone", {"audio": tone, "rate": 16000})]
    run = audit(model, data, out=tmp_path / "run", segment=0.2, explainers=["attention"], metrics=["comprehensiveness"])
    assert run.examples()[0]["units"]["names"] == ["0.00s", "0.20s", "0.40s", "0.60s"]
