"""A pass over every row: each counted once, in the same memory, with the same bits from any engine."""

from __future__ import annotations

import json
import math
import tracemalloc
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch_toy import TorchToy

from regard.audits.audit import audit
from regard.audits.every_row import SCORED_ROWS, EveryRow, RunningFold
from regard.datasets.columns import ColumnChoice
from regard.datasets.mark_set import MarkSet
from regard.datasets.row_stream import row_stream
from regard.errors import InputError
from regard.measures.exact_sums import BucketSums, bucket_of
from regard.measures.intervals import ClusterSums
from regard.records import Example
from regard.store.run_status import run_status
from regard.store.shard_result import ShardResult
from regard.testing.toy import ToyModel

FEW: dict[str, Any] = {
    "limit": 20, "budget": "none", "explainers": ["attention", "random"], "metrics": ["entropy"], "keep": 0,
    "slices": ["site"],
}  # fmt: skip


def _rows(count: int) -> list[dict[str, Any]]:
    words = ("good", "bad", "dull", "great", "film")
    return [
        {
            "text": f"a {words[i % 5]} {words[i // 5 % 5]} n{i}",
            "label": ("bad", "good")[i % 2],
            "site": f"s{i % 3}",
        }
        for i in range(count)
    ]


def _jsonl(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return str(path)


def _parquet(path: Path, rows: list[dict[str, Any]]) -> str:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=64)
    return str(path)


def _audited(out: Path, data: str, model: Any = None, **more: Any) -> EveryRow:
    audit(model or TorchToy(), data, out=out, every_row="scores", **{**FEW, **more})
    result = EveryRow.read(out)
    assert result is not None
    return result


def test_any_engine_and_format_gives_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1] / "shared"))
    rows = _rows(150)
    one = _audited(tmp_path / "one", _jsonl(tmp_path / "rows.jsonl", rows))
    two = _audited(tmp_path / "two", _parquet(tmp_path / "rows.parquet", rows), engine="processes:workers=1")
    assert one == two
    assert (one.rows, one.predicted, one.problems, one.unmatched) == (150, 150, 0, 0)
    assert sum(n for _, _, n in one.confusion) == 150
    whole = {(s.metric, s.method): s for s in one.summaries if not {"class", "slice"} & set(s.where)}
    right = sum(n for label, predicted, n in one.confusion if label == predicted)
    assert whole["accuracy", "model"].estimate == right / 150
    assert whole["entropy", "attention"].n == 150
    sites = {s.where["slice"]: s.n for s in one.summaries if s.metric == "accuracy" and "slice" in s.where}
    assert sites == {"site=s0": 50, "site=s1": 50, "site=s2": 50}


def test_numbers_are_those_of_an_audit_of_all_examples(tmp_path: Path) -> None:
    data = _jsonl(tmp_path / "rows.jsonl", _rows(60))
    streamed = _audited(tmp_path / "streamed", data)
    run = audit(TorchToy(), data, out=tmp_path / "whole", **{**FEW, "limit": 60})
    (attention,) = [s for s in run.scores() if s.metric == "entropy" and s.method == "attention"]
    (mean,) = [
        s.estimate for s in streamed.summaries
        if (s.metric, s.method) == ("entropy", "attention") and not {"class", "slice"} & set(s.where)
    ]  # fmt: skip
    exact = Fraction(sum(map(Fraction, attention.values.tolist()))) / 60
    assert mean == float(exact)  # rounded once


def test_stopped_pass_continues_and_other_settings_are_refused(tmp_path: Path) -> None:
    data = _jsonl(tmp_path / "rows.jsonl", _rows(100))
    whole = _audited(tmp_path / "whole", data)

    class Stop(Exception):
        pass

    def stop(activity: dict[str, Any]) -> None:
        if (tmp_path / "run" / "rows").is_dir():
            raise Stop

    with pytest.raises(Stop):
        _audited(tmp_path / "run", data, watch=stop)
    toy = TorchToy()
    assert run_status(tmp_path / "run").every_row["done"] == SCORED_ROWS
    assert _audited(tmp_path / "run", data, toy) == whole
    assert run_status(tmp_path / "run").every_row["done"] == 100
    assert 0 < toy.calls["predict"] < 100  # the first shard was not predicted again
    with pytest.raises(InputError, match="data was"):
        _audited(tmp_path / "run", _jsonl(tmp_path / "rows.jsonl", _rows(99)))


def test_row_that_fails_is_listed_and_the_others_are_counted(tmp_path: Path) -> None:
    rows = _rows(70)
    rows[33]["text"] = "a poisoned film"
    data = _jsonl(tmp_path / "rows.jsonl", rows)
    result = _audited(tmp_path / "run", data, TorchToy(raises_on="poisoned"))
    assert (result.rows, result.predicted) == (70, 69)
    assert result.problems >= 1


def test_memory_does_not_grow_with_rows() -> None:
    def peak(count: int) -> int:
        fold = RunningFold(seed=0)
        tracemalloc.start()
        for start in range(0, count, 100):
            names = [f"row-{i}" for i in range(start, start + 100)]
            rows = {name: Example(name, {"text": name}, "good") for name in names}
            answers = tuple({"id": n, "predicted": "good", "probability": 0.7, "length": 3} for n in names)
            fold.add(ShardResult(predictions=answers), rows)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert fold.predicted == count
        return most

    peak(100)
    assert peak(12_000) < 1.1 * peak(6000)  # every group of clusters has its sums by then


def test_stream_holds_one_row_at_a_time(tmp_path: Path) -> None:
    stream = row_stream(_jsonl(tmp_path / "rows.jsonl", _rows(50)), ColumnChoice(), split=None, skip_bad=False)
    assert stream.size == 50
    rows = stream.walk()
    assert [next(rows).id for _ in range(2)] == ["row-1", "row-2"]
    (tmp_path / "bad.jsonl").write_text('{"text": "a"}\n{"text": \n{"text": "b"}\n', "utf-8")
    bad = row_stream(str(tmp_path / "bad.jsonl"), ColumnChoice(), split=None, skip_bad=True)
    assert [e.id for e in bad.walk()] == ["row-1", "row-3"]
    with pytest.raises(InputError, match="line 2"):
        list(row_stream(str(tmp_path / "bad.jsonl"), ColumnChoice(), split=None, skip_bad=False).walk())


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=64), min_size=1), st.randoms())
def test_exact_sums_do_not_depend_on_order(values: list[float], random: Any) -> None:
    shuffled = [*values]
    random.shuffle(shuffled)
    sums, others = BucketSums(), BucketSums()
    sums.add(values, [0] * len(values))
    others.add(shuffled, [0] * len(values))
    assert sums == others
    with suppress(OverflowError):  # a sum beyond the largest number
        assert sums.sums().total.tolist() == [math.fsum(values)]


def test_groups_of_clusters_have_the_spread_of_the_clusters() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=40_000)
    names = [f"c{i}" for i in range(len(values))]
    groups = BucketSums()
    groups.add(values.tolist(), map(bucket_of, names))
    grouped, single = groups.sums(), ClusterSums.of(values, names)
    assert grouped.n == single.n

    def error(sums: ClusterSums) -> float:
        deviations = sums.total - sums.count * sums.mean
        return float(np.sqrt((deviations**2).sum()) / sums.n)

    assert error(grouped) == pytest.approx(error(single), rel=0.1)


def test_mark_set_is_a_set() -> None:
    marks, reference = MarkSet(), set[int]()
    for mark in np.random.default_rng(0).integers(0, 4000, 6000).tolist():
        assert marks.add(mark) == (mark not in reference)
        reference.add(mark)
    assert len(marks) == len(reference)


def test_scores_of_every_row_need_named_methods(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="named explainers"):
        audit(ToyModel(), [Example("a", {"text": "good"})], out=tmp_path / "run", every_row="scores")
