from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from regard.errors import InputError, UnknownName
from regard.records import Attention, Example, Relevance, Score, Site, Summary, Units
from regard.store.export import TABLES, export
from regard.store.ledger import Problem
from regard.store.run import Run
from regard.store.run_writer import RunWriter
from regard.store.shard_result import (
    Cost,
    ShardResult,
    attention_from_bytes,
    attention_to_bytes,
    units_from_json,
    units_to_json,
)

MANIFEST = {"model": {"name": "m"}, "data": {"name": "d"}}
IDENTITY = {"model": "m", "seed": 0}
UNITS = Units(("[CLS]", "a", "b"), "word", "span", np.array([[0, 0], [0, 1], [2, 3]]), [True, False, False],
              [-1, 0, 1], [0, 0, 0], [0, 1, 2], (3,))  # fmt: skip


def _page(names: list[str], *, base: float = 0.0) -> ShardResult:
    rows = tuple(
        {"id": n, "predicted": "good", "target": 1, "probability": 0.5, "value": base, "distribution": [0.5, 0.5],
         "units": units_to_json(UNITS)}
        for n in names
    )  # fmt: skip
    relevance = Relevance.of(
        "rollout", names, [[0, base + i, 1] for i in range(len(names))], extras={"mass": np.arange(len(names)) + base}
    )
    score = Score(
        "sufficiency", "rollout", tuple(names), np.array([np.nan, *[base] * (len(names) - 1)]), "lower",
        {"operator": "mask"}, {"drop": np.full((len(names), 2), base)}, (0.1, 0.5),
    )  # fmt: skip
    return ShardResult(rows, (relevance,), (score,), costs=(Cost("explainer", "rollout", 1.0, 3, 2, 5),))


def _examples() -> list[Example]:
    return [Example(n, {"text": f"{n} b"}, "good", ((0.0, 1.0),), "g", None, {"year": "1"}) for n in ("e0", "e1", "e2")]


def _write(path: Path, *, status: str = "complete") -> None:
    with RunWriter(path, IDENTITY) as writer:
        writer.open({**MANIFEST, "methods": ["rollout"]}, _examples())
        writer.commit(["e1"], _page(["e1"], base=5.0))
        weights = np.full((1, 2, 3, 3), 1 / 3, np.float32)
        page = _page(["e2", "e0"])
        kept = ShardResult(page.rows, page.relevances, page.scores, page.findings, page.costs,
                    (Problem("e0", "metric", "odd"),), {"attention": "none here"},
                    {"e2": [Attention(Site("s", 0, "self", 0, 2), weights)]})  # fmt: skip
        writer.commit(["e2", "e0"], kept)
        summary = Summary("sufficiency", "rollout", 0.5, float("nan"), float("nan"), 1, 1, 2, 0)
        writer.close(status, summaries=[summary])


def test_what_was_written_is_read_in_the_order_of_the_data(tmp_path: Path) -> None:
    _write(tmp_path / "run")
    run = Run(tmp_path / "run")
    assert run.manifest["status"] == "complete"
    assert run.progress == (3, 3)
    assert run.methods() == ["rollout"]
    relevance = run.relevance("rollout")
    assert relevance.ids == ("e0", "e1", "e2")
    assert [row.tolist() for row in relevance] == [[0, 1, 1], [0, 5, 1], [0, 0, 1]]
    assert relevance.extras["mass"].tolist() == [1, 5, 0]
    (score,) = run.scores()
    assert score.ids == ("e0", "e1", "e2")
    np.testing.assert_array_equal(score.values, [0.0, np.nan, np.nan])
    assert score.curves["drop"].tolist() == [[0, 0], [5, 5], [0, 0]]
    assert score.grid == (0.1, 0.5)
    example = run.examples()[1]
    assert example["id"] == "e1"
    assert example["value"] == 5.0
    assert example["slices"] == {"year": "1"}
    assert example["rationale"] == [[0.0, 1.0]]
    assert units_from_json(example["units"]).names == UNITS.names
    assert run.problems() == [{"id": "e0", "stage": "metric", "message": "odd"}]
    assert run.skipped == {"attention": "none here"}
    (cost,) = run.costs()
    assert (cost["forwards"], cost["backwards"], cost["share"]) == (6, 4, 1.0)
    assert run.kept() == ["e2"]
    (site,) = run.capture("e2")
    assert site.weights.shape == (1, 2, 3, 3)
    (summary,) = run.summaries()
    assert (summary.estimate, summary.undefined) == (0.5, 2)
    assert np.isnan(summary.low)


def test_a_name_that_is_not_there_is_refused_with_those_that_are(tmp_path: Path) -> None:
    _write(tmp_path / "run")
    run = Run(tmp_path / "run")
    with pytest.raises(UnknownName, match="rollout"):
        run.relevance("rolout")
    with pytest.raises(UnknownName, match="e2"):
        run.capture("e9")


def test_every_table_is_exported_and_agrees_with_the_run(tmp_path: Path) -> None:
    _write(tmp_path / "run")
    run = Run(tmp_path / "run")
    files = export(run)
    assert set(files) == set(TABLES)
    tables = {name: pq.read_table(path).to_pylist() for name, path in files.items()}
    assert [row["example"] for row in tables["examples"]] == ["e0", "e1", "e2"]
    assert [row["value"] for row in tables["relevance"]] == run.relevance("rollout").values.tolist()
    assert [row["value"] for row in tables["scores"]] == [0.0, None, None]
    assert [(row["x"], row["y"]) for row in tables["curves"]][2:4] == [(0.1, 5.0), (0.5, 5.0)]
    assert tables["summaries"][0]["low"] is None
    assert tables["problems"] == [{"example": "e0", "stage": "metric", "message": "odd"}]
    assert tables["costs"][0]["method"] == "rollout"


def test_a_run_without_any_result_exports_empty_tables(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "run", IDENTITY) as writer:
        writer.open(MANIFEST, _examples())
    run = Run(tmp_path / "run")
    assert run.progress == (0, 3)
    assert pq.read_table(export(run)["scores"]).num_rows == 0


def test_nothing_is_counted_twice(tmp_path: Path) -> None:
    _write(tmp_path / "run")
    before = Run(tmp_path / "run")
    _write(tmp_path / "run")
    after = Run(tmp_path / "run")
    assert after.costs() == before.costs()
    assert after.problems() == before.problems()
    assert after.relevance("rollout").ids == before.relevance("rollout").ids


def test_another_audit_is_refused_and_every_difference_named(tmp_path: Path) -> None:
    _write(tmp_path / "run")
    other = {"model": "n", "seed": 1}
    with RunWriter(tmp_path / "run", other) as writer, pytest.raises(InputError) as caught:
        writer.open(MANIFEST, _examples())
    assert "model was m and is now n" in str(caught.value)
    assert "seed was 0 and is now 1" in str(caught.value)
    assert Run(tmp_path / "run").manifest["status"] == "complete"


def test_left_over_files_are_swept(tmp_path: Path) -> None:
    _write(tmp_path / "run")
    stale = [tmp_path / "run" / "manifest.json.12.part", tmp_path / "run" / "blobs" / "ab" / "cd.part"]
    stale[1].parent.mkdir(exist_ok=True)
    for path in stale:
        path.write_bytes(b"half")
    orphan = tmp_path / "run" / "blobs" / "ab" / ("ab" * 32)
    orphan.write_bytes(b"written, but its task was never entered")
    with RunWriter(tmp_path / "run", IDENTITY) as writer:
        writer.open(MANIFEST, _examples())
    assert not any(path.exists() for path in (*stale, orphan))
    assert Run(tmp_path / "run").relevance("rollout").ids == ("e0", "e1", "e2")


def test_nobodys_files_are_mixed_with_a_run(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(InputError, match=r"thesis\.tex"):
        RunWriter(tmp_path, IDENTITY)
    with pytest.raises(InputError, match="a file"):
        RunWriter(tmp_path / "thesis.tex", IDENTITY)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_large_input_is_kept_beside_the_examples(tmp_path: Path) -> None:
    image = np.random.default_rng(0).random((3, 96, 96)).astype(np.float32)
    with RunWriter(tmp_path / "run", IDENTITY) as writer:
        writer.open(MANIFEST, [Example("big", {"image": image}), Example("small", {"row": np.arange(3.0)})])
    with RunWriter(tmp_path / "run", IDENTITY) as writer:
        writer.open(MANIFEST, [])
    big, small = Run(tmp_path / "run").examples()
    assert big["inputs"]["image"]["shape"] == [3, 96, 96]
    np.testing.assert_array_equal(Run(tmp_path / "run").array(big["inputs"]["image"]), image)
    assert small["inputs"]["row"] == [0.0, 1.0, 2.0]


def test_attention_is_exact_until_it_is_very_large(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.ones(7), size=(1, 2, 7)).astype(np.float32)
    sink = rng.random((1, 2, 7)).astype(np.float32)
    given = [Attention(Site("a", 1, "causal", 3, 2, "m"), weights.copy(), sink, "replayed")]
    (exact,) = attention_from_bytes(attention_to_bytes(given))
    np.testing.assert_array_equal(exact.weights, weights)
    assert exact.sink is not None
    np.testing.assert_array_equal(exact.sink, sink)
    assert (exact.site, exact.checked) == (given[0].site, "replayed")
    monkeypatch.setattr("regard.store.shard_result.LARGEST_EXACT", 8)
    (half,) = attention_from_bytes(attention_to_bytes(given))
    assert half.weights.dtype == np.float32
    np.testing.assert_allclose(half.weights, weights, atol=5e-4)
