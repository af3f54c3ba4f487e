"""Parquet: one file, or a directory of files; only the columns that are needed are read, batch after batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from regard.datasets.formats.features import label_names_in
from regard.datasets.table import Row, Table
from regard.errors import InputError

ROWS_AT_ONCE = 2048


def open_parquet(paths: Sequence[Path], *, name: str) -> Table:
    """The files one after the other, as one table."""
    schema = _file(paths[0]).schema_arrow

    def walk(columns: Sequence[str] | None) -> Iterator[Row]:
        import pyarrow

        number = 0
        for path in paths:
            try:
                for batch in _file(path).iter_batches(ROWS_AT_ONCE, columns=None if columns is None else list(columns)):
                    for values in batch.to_pylist():
                        number += 1
                        yield Row(number, values)
            except (pyarrow.ArrowException, OSError) as error:
                raise InputError(
                    f"{path.name}, after row {number}", expected="a Parquet file", got=_line(error)
                ) from None

    return Table(name, tuple(schema.names), walk, labels=label_names_in(schema))


def _file(path: Path) -> Any:
    import pyarrow
    import pyarrow.parquet

    try:
        return pyarrow.parquet.ParquetFile(path, memory_map=True)
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(f"file {path}", expected="a Parquet file", got=_line(error)) from None


def _line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0] or type(error).__name__
