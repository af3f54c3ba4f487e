"""One path for every modality: real models through audit, capture and explain."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import regard
from regard.store.run import Run

METHODS = ("attention", "input_x_gradient", "integrated_gradients", "leave_one_out", "random")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "place", "rollout"),
    [("bilstm", "span", False), ("digits", "box", True), ("cancer", "column", True), ("power", "range", True)],
)
def test_every_modality_goes_through_the_audit(source: str, place: str, rollout: bool, tmp_path: Path) -> None:
    """Text, image, table and series: the same call, the same tables, and no method asks which it is."""
    run = regard.audit(source, out=tmp_path / "run", profile="quick", limit=16, keep=2)
    assert run.manifest["status"] == "complete"
    assert {*METHODS} <= {*run.methods()}
    assert ("rollout" in run.methods()) is rollout, run.skipped
    assert not run.problems()
    examples = {e["id"]: e for e in run.examples()}
    assert len(examples) == 16
    for method in run.methods():
        relevance = run.relevance(method)
        for name, values in zip(relevance.ids, relevance, strict=True):
            units = examples[name]["units"]
            assert units["place_kind"] == place
            assert len(values) == len(units["names"])
            assert not np.any(values[np.array(units["special"], bool)])
    whole = [s for s in run.summaries() if "class" not in s.where]
    for summary in whole:
        assert summary.n + summary.undefined == 16
        if summary.n > 1:
            assert summary.low <= summary.estimate <= summary.high
    operators = {s.where["operator"] for s in whole if s.metric == "comprehensiveness"}
    assert len(operators) >= 2, "every claim is made with at least two ways of removing a unit"
    assert len(run.kept()) == 2
    for attention in run.capture(run.kept()[0]):
        sums = attention.weights.sum(-1)
        assert np.all((np.abs(sums - 1) < 2e-3) | (sums == 0))


@pytest.mark.slow
@pytest.mark.parametrize("source", ["bilstm", "digits"])
def test_knowledge_beats_chance(source: str, tmp_path: Path) -> None:
    """On real models leave-one-out finds what matters; the random baseline does not."""
    run = regard.audit(
        source, out=tmp_path / "run", limit=24, explainers=["leave_one_out", "random"], metrics=["comprehensiveness"]
    )
    by = {(s.method, str(s.where["operator"])): s for s in run.summaries() if "class" not in s.where}
    for (method, operator), summary in by.items():
        if method == "leave_one_out":
            assert summary.low > by["random", operator].estimate


@pytest.mark.real
@pytest.mark.slow
def test_minilm_through_capture_and_explain() -> None:
    model = regard.load("minilm:epochs=1,layers=1,n=1200")
    capture = regard.capture(model, ["a gorgeous , witty and seductive movie", "dull"], check="always")
    assert [a.site.heads for a in capture.sites] == [12] * 6
    assert capture.sites[0].shape[2] == len(capture.units[0])
    found = regard.explain(model, "a gorgeous , witty and seductive movie", [*METHODS, "rollout"])
    assert not found.skipped
    assert found.said(0) == "positive"


@pytest.mark.real
@pytest.mark.slow
def test_smollm2_through_capture_and_explain() -> None:
    """A real causal model with grouped queries: 30 layers, 9 heads over 3 key heads."""
    model = regard.load("smollm2")
    capture = regard.capture(model, "The capital of France is")
    assert [a.site.heads for a in capture.sites] == [9] * 30
    assert {a.site.kind for a in capture.sites} == {"causal"}
    weights = capture.sites[3].dense().weights
    assert np.allclose(weights.sum(-1), 1, atol=1e-4)
    assert not np.any(np.triu(weights[0, 0], 1))
    found = regard.explain(model, "The capital of France is", ["attention", "input_x_gradient", "leave_one_out"])
    assert not found.skipped
    france = next(i for i, name in enumerate(found.units[0].names) if "France" in name)
    assert int(np.argmax(found.relevance["leave_one_out"][0])) == france, found.relevance["leave_one_out"][0]


@pytest.mark.slow
def test_the_users_csv(tmp_path: Path) -> None:
    """Odd column names, odd labels, groups, a slice: matched, printed, and used."""
    examples = list(regard.read("reviews", limit=30))
    path = tmp_path / "mine.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["Review text", "verdict", "author", "site"])
        for i, example in enumerate(examples):
            writer.writerow(
                [
                    example.inputs["text"],
                    "pos" if example.label else "neg",
                    f"author {i % 7}",
                    "web" if i % 2 else "print",
                ]
            )
    data = regard.read(
        str(path), text_column="Review text", label_column="verdict", group_column="author", slice_columns=("site",)
    )
    run = regard.audit("bilstm", data, out=tmp_path / "run", explainers=["attention", "random"], limit=30)
    summary = next(
        s for s in run.summaries() if s.metric == "comprehensiveness" and not {"class", "slice"} & {*s.where}
    )
    assert (summary.n, summary.clusters) == (30, 7)
    sites = {s.where["slice"]: s.n for s in run.summaries() if "slice" in s.where and s.metric == "comprehensiveness"}
    assert sites == {"site=web": 15, "site=print": 15}
    assert "By slice of the data" in regard.write_report(run, tmp_path / "report.html").read_text("utf-8")
    assert json.dumps(dict(Run(tmp_path / "run").manifest))
