"""Parquet: one file, or a directory of files; reads only the needed columns, batch after batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from regard.datasets.formats.features import label_names_in
from regard.datasets.table import Row, Table, check_columns
from regard.errors import InputError, phrase
from regard.files import check_file, max_bytes, reason, shown_size

ROWS_AT_ONCE = 2048
FREE_ROWS = 10_000_000
MOST_ROWS_PER_BYTE = 20
"""Maximum rows per byte of file beyond FREE_ROWS: a file with more holds nothing but repetition."""
UNREADABLE = (OSError, ValueError, TypeError, KeyError, IndexError, OverflowError, NotImplementedError, MemoryError)
"""Exceptions that pyarrow raises on damaged files, including its own."""


def open_parquet(paths: Sequence[Path], *, name: str) -> Table:
    """Open several files as one table."""
    schema = _file(paths[0]).schema_arrow
    names = column_names(schema, paths[0])

    def walk(columns: Sequence[str] | None) -> Iterator[Row]:
        number = 0
        for path in paths:
            try:
                for batch in _file(path).iter_batches(ROWS_AT_ONCE, columns=None if columns is None else list(columns)):
                    for values in batch.to_pylist():
                        number += 1
                        yield Row(number, values)
            except UNREADABLE as error:
                subject = phrase("errors.datasets.after_row", file=path.name, number=number)
                raise InputError(subject, expected=phrase("errors.datasets.parquet_file"), got=reason(error)) from None

    return Table(name, names, walk, labels=label_names_in(schema))


def column_names(schema: Any, path: Path) -> tuple[str, ...]:
    """Column names of an arrow schema, checked for damage."""
    try:
        names = tuple(schema.names)
    except UnicodeDecodeError as error:
        raise InputError(
            phrase("errors.common.file_place", place=path),
            expected=phrase("errors.datasets.column_names_in_utf"),
            got=reason(error),
        ) from None
    check_columns(names, phrase("errors.common.file_place", place=path.name))
    return names


def _file(path: Path) -> Any:
    import pyarrow.parquet

    size = check_file(path)
    try:
        file = pyarrow.parquet.ParquetFile(path, memory_map=True)
        metadata = file.metadata
        rows, unpacked = metadata.num_rows, sum(_unpacked(metadata, i) for i in range(metadata.num_row_groups))
    except UNREADABLE as error:
        raise InputError(
            phrase("errors.common.file_place", place=path),
            expected=phrase("errors.datasets.parquet_file"),
            got=reason(error),
        ) from None
    if rows > max(FREE_ROWS, MOST_ROWS_PER_BYTE * size):
        raise InputError(
            phrase("errors.common.file_place", place=path),
            expected=phrase("errors.datasets.rows_that_fit_size"),
            got=phrase("errors.datasets.rows_in_size", rows=rows, size=shown_size(size)),
        )
    if unpacked > max_bytes():
        remedy = phrase("errors.datasets.part_or_higher_limit_max")
        expected = phrase("errors.datasets.at_most_when_unpacked", value=shown_size(max_bytes()))
        raise InputError(
            phrase("errors.common.file_place", place=path), expected=expected, got=shown_size(unpacked), remedy=remedy
        )
    return file


def _unpacked(metadata: Any, group: int) -> int:
    return max(0, int(metadata.row_group(group).total_byte_size))
