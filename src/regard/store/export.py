"""Export of a run as tidy Parquet tables: one row per example, method and metric."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from regard.records import Score
from regard.store.blobs import room_on_disk, write_atomically
from regard.store.run import Run, summary_to_json

_ROWS_PER_GROUP = 1 << 16
Row = Mapping[str, Any]


def export(run: Run, out: Path | None = None) -> dict[str, Path]:
    """Write every table into `out` (default: `tables/` in the run) and return name -> file."""
    return write_tables(out or run.path / "tables", {n: (columns, rows(run)) for n, (columns, rows) in TABLES.items()})


def write_tables(folder: Path, tables: Mapping[str, tuple[str, Iterable[Row]]]) -> dict[str, Path]:
    """Write tables as Parquet and return name -> file. tables: columns as in `TABLES`, and rows."""
    files = {}
    with room_on_disk(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, (columns, rows) in tables.items():
            path = folder / f"{name}.parquet"
            write_atomically(path, _parquet(_schema(columns), rows))
            files[name] = path
    return files


def _parquet(schema: Any, rows: Iterable[Row]) -> bytes:
    buffer = io.BytesIO()
    with pq.ParquetWriter(buffer, schema, compression="zstd") as writer:
        group: list[Row] = []
        for row in rows:
            group.append(row)
            if len(group) == _ROWS_PER_GROUP:
                writer.write_table(pa.Table.from_pylist(group, schema))
                group = []
        writer.write_table(pa.Table.from_pylist(group, schema))
    return buffer.getvalue()


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) or value is None else json.dumps(value, ensure_ascii=False)


def _examples(run: Run) -> Iterator[Row]:
    for e in run.examples():
        yield {
            "example": e["id"],
            **{name: _text(e[name]) for name in ("inputs", "label", "predicted", "target", "slices", "rationale")},
            **{name: e[name] for name in ("probability", "value", "distribution", "group", "parent")},
            "units": len(e["units"]["names"]) if e["units"] else None,
        }


def _relevance(run: Run) -> Iterator[Row]:
    units = {e["id"]: e["units"] for e in run.examples() if e["units"]}
    for method in run.methods():
        relevance = run.relevance(method)
        for name, values in zip(relevance.ids, relevance, strict=True):
            example_units = units.get(name) or {"names": [None] * len(values), "special": [None] * len(values)}
            for i, value in enumerate(values):
                unit = {"unit": i, "name": example_units["names"][i], "special": example_units["special"][i]}
                yield {"example": name, "method": method, **unit, "value": float(value)}


def _score_facts(score: Score) -> Row:
    return {"metric": score.metric, "method": score.method, "where": _text(dict(score.where))}


def _score_rows(scores: Sequence[Score]) -> Iterator[Row]:
    for s in scores:
        facts = {**_score_facts(s), "better": s.better}
        for name, value in zip(s.ids, s.values, strict=True):
            yield {"example": name, **facts, "value": None if np.isnan(value) else float(value)}


def _curves(run: Run) -> Iterator[Row]:
    for s in (*run.scores(), *run.findings()):
        for curve, values in s.curves.items():
            points = np.asarray(values)
            grid = s.grid if len(s.grid) == points.shape[1] else tuple(range(points.shape[1]))
            for name, line in zip(s.ids, points, strict=True):
                for x, y in zip(grid, line, strict=True):
                    point = {"x": float(x), "y": None if np.isnan(y) else float(y)}
                    yield {"example": name, **_score_facts(s), "curve": curve, **point}


def _summaries(run: Run) -> Iterator[Row]:
    for s in run.summaries():
        yield {**summary_to_json(s), "where": _text(dict(s.where))}


def _problems(run: Run) -> Iterator[Row]:
    for p in run.problems():
        yield {"example": p["id"], "stage": p["stage"], "message": p["message"]}


_EXAMPLE_COLUMNS = (
    "example inputs label predicted target probability:float value:float distribution:floats group parent slices "
    "rationale units:int"
)
_SCORE_COLUMNS = "example metric method where value:float better"
_SUMMARY_COLUMNS = (
    "metric method estimate:float low:float high:float n:int clusters:int undefined:int seed:int level:float "
    "better role where"
)
TABLES: Mapping[str, tuple[str, Callable[[Run], Iterable[Row]]]] = {
    "examples": (_EXAMPLE_COLUMNS, _examples),
    "relevance": ("example method unit:int name special:bool value:float", _relevance),
    "scores": (_SCORE_COLUMNS, lambda run: _score_rows(run.scores())),
    "findings": (_SCORE_COLUMNS, lambda run: _score_rows(run.findings())),
    "curves": ("example metric method where curve x:float y:float", _curves),
    "summaries": (_SUMMARY_COLUMNS, _summaries),
    "problems": ("example stage message", _problems),
    "costs": ("kind method seconds:float forwards:int backwards:int requests:int share:float", Run.costs),
}
"""Name of a table -> its columns (`name` or `name:type`, text by default) and the rows of a run."""
_TYPES = {
    "": pa.string(),
    "float": pa.float64(),
    "int": pa.int64(),
    "bool": pa.bool_(),
    "floats": pa.list_(pa.float64()),
}


def _schema(columns: str) -> Any:
    pairs = (column.partition(":") for column in columns.split())
    return pa.schema([(name, _TYPES[kind]) for name, _, kind in pairs])
