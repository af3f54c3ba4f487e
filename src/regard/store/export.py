"""A run as tidy Parquet tables: one row = one example x one method x one metric. Read them with anything."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
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
    """Write every table into `out` (default: `tables/` in the run); name -> file. Each file is whole or absent."""
    folder = out or run.path / "tables"
    files = {}
    with room_on_disk(run.path):
        folder.mkdir(parents=True, exist_ok=True)
        for name, (schema, rows) in TABLES.items():
            path = folder / f"{name}.parquet"
            write_atomically(path, _parquet(pa.schema(schema), rows(run)))
            files[name] = path
    return files


def _parquet(schema: Any, rows: Iterator[Row]) -> bytes:
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
            "example": e["id"], "inputs": _text(e["inputs"]), "label": _text(e["label"]),
            "predicted": _text(e["predicted"]), "target": _text(e["target"]), "probability": e["probability"],
            "value": e["value"], "distribution": e["distribution"], "group": e["group"], "parent": e["parent"],
            "slices": _text(e["slices"]), "rationale": _text(e["rationale"]),
            "units": len(e["units"]["names"]) if e["units"] else None,
        }  # fmt: skip


def _relevance(run: Run) -> Iterator[Row]:
    units = {e["id"]: e["units"] for e in run.examples() if e["units"]}
    for method in run.methods():
        relevance = run.relevance(method)
        for name, values in zip(relevance.ids, relevance, strict=True):
            example_units = units.get(name) or {"names": [None] * len(values), "special": [None] * len(values)}
            for i, value in enumerate(values):
                yield {
                    "example": name, "method": method, "unit": i, "name": example_units["names"][i],
                    "special": example_units["special"][i], "value": float(value),
                }  # fmt: skip


def _scores(run: Run) -> Iterator[Row]:
    yield from _score_rows(run.scores())


def _findings(run: Run) -> Iterator[Row]:
    yield from _score_rows(run.findings())


def _score_rows(scores: Sequence[Score]) -> Iterator[Row]:
    for s in scores:
        where = _text(dict(s.where))
        for name, value in zip(s.ids, s.values, strict=True):
            yield {
                "example": name, "metric": s.metric, "method": s.method, "where": where,
                "value": None if np.isnan(value) else float(value), "better": s.better,
            }  # fmt: skip


def _curves(run: Run) -> Iterator[Row]:
    for s in (*run.scores(), *run.findings()):
        where = _text(dict(s.where))
        for curve, values in s.curves.items():
            points = np.asarray(values)
            grid = s.grid if len(s.grid) == points.shape[1] else tuple(range(points.shape[1]))
            for name, line in zip(s.ids, points, strict=True):
                for x, y in zip(grid, line, strict=True):
                    yield {
                        "example": name, "metric": s.metric, "method": s.method, "where": where, "curve": curve,
                        "x": float(x), "y": None if np.isnan(y) else float(y),
                    }  # fmt: skip


def _summaries(run: Run) -> Iterator[Row]:
    for s in run.summaries():
        yield {**summary_to_json(s), "where": _text(dict(s.where))}


def _problems(run: Run) -> Iterator[Row]:
    for p in run.problems():
        yield {"example": p["id"], "stage": p["stage"], "message": p["message"]}


def _costs(run: Run) -> Iterator[Row]:
    yield from run.costs()


_S, _F, _I = pa.string(), pa.float64(), pa.int64()
TABLES: Mapping[str, tuple[list[tuple[str, Any]], Callable[[Run], Iterator[Row]]]] = {
    "examples": (
        [("example", _S), ("inputs", _S), ("label", _S), ("predicted", _S), ("target", _S), ("probability", _F),
         ("value", _F), ("distribution", pa.list_(_F)), ("group", _S), ("parent", _S), ("slices", _S),
         ("rationale", _S), ("units", _I)],
        _examples,
    ),
    "relevance": (
        [("example", _S), ("method", _S), ("unit", _I), ("name", _S), ("special", pa.bool_()), ("value", _F)],
        _relevance,
    ),
    "scores": (
        [("example", _S), ("metric", _S), ("method", _S), ("where", _S), ("value", _F), ("better", _S)], _scores,
    ),
    "findings": (
        [("example", _S), ("metric", _S), ("method", _S), ("where", _S), ("value", _F), ("better", _S)], _findings,
    ),
    "curves": (
        [("example", _S), ("metric", _S), ("method", _S), ("where", _S), ("curve", _S), ("x", _F), ("y", _F)],
        _curves,
    ),
    "summaries": (
        [("metric", _S), ("method", _S), ("estimate", _F), ("low", _F), ("high", _F), ("n", _I), ("clusters", _I),
         ("undefined", _I), ("seed", _I), ("level", _F), ("better", _S), ("role", _S), ("where", _S)],
        _summaries,
    ),
    "problems": ([("example", _S), ("stage", _S), ("message", _S)], _problems),
    "costs": (
        [("kind", _S), ("method", _S), ("seconds", _F), ("forwards", _I), ("backwards", _I), ("requests", _I),
         ("share", _F)],
        _costs,
    ),
}  # fmt: skip
"""Name of a table -> its columns and where its rows come from."""
