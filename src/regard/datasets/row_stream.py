"""Rows of a data set, one after another, without keeping any in memory."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from regard.datasets.columns import ColumnChoice, choose
from regard.datasets.examples import Examples
from regard.datasets.read import open_table, read
from regard.datasets.rows import Selection, TableStream
from regard.datasets.table import RowError
from regard.errors import InputError, phrase
from regard.files import kind_of
from regard.records import Example
from regard.registry import names as known_names

CHUNK = 1 << 20
"""Bytes to hash at once."""


@dataclass(frozen=True, slots=True)
class RowStream:
    """Stream of rows. walk() reads the rows from first to last; ids are row numbers. fingerprint: sha256 of the source.

    labels: names of coded labels, if the source has them. size: approximate number of rows, 0 if unknown.
    """

    name: str
    fingerprint: str
    labels: tuple[str, ...]
    walk: Callable[[], Iterator[Example]]
    size: int = 0


def row_stream(
    source: str | Path | Iterable[Example], columns: ColumnChoice, *, split: str | None, skip_bad: bool
) -> RowStream:
    """Open a file as a stream of rows; built-in data and lists are in memory already."""
    if isinstance(source, str | Path) and str(source).partition(":")[0] not in known_names("dataset"):
        path = Path(source).expanduser()
        if kind_of(path) == "file" and path.suffix != ".wav":
            return _from_file(path, columns, Selection(split, None, skip_bad=skip_bad))
    data = source if isinstance(source, Examples) else read(source, limit=None, split=split)
    return RowStream(data.name, data.fingerprint, tuple(data.labels), lambda: iter(data), len(data))


def _from_file(path: Path, columns: ColumnChoice, selection: Selection) -> RowStream:
    table = open_table(path, split=selection.split)
    found_columns = choose(table, columns)
    stream = TableStream(table, found_columns, selection)
    names: Sequence[str] = (*found_columns.all, *([stream.split_column] if stream.split_column else ()))
    if not table.typed:  # whether labels are numbers is known after the last row
        for row in table.walk(tuple(dict.fromkeys(names))):
            if not row.problem:
                stream.label_in(row)

    def walk() -> Iterator[Example]:
        for row in table.walk(tuple(dict.fromkeys(names))):
            try:
                if row.problem:
                    raise RowError(phrase("errors.datasets.row_table", table=table.name), row.problem)
                if stream.holds(row):
                    yield stream.example(row, f"row-{row.number}", stream.label_in(row))
            except RowError as bad:
                if not selection.skip_bad:
                    raise stream.refusal(row, bad) from None

    fingerprint, lines = _digest(path)
    labels = table.labels.get(found_columns.label or "", ())
    return RowStream(table.name, fingerprint, labels, walk, _rows(path, lines))


def _rows(path: Path, lines: int) -> int:
    if path.suffix == ".parquet":
        import pyarrow.parquet

        return int(pyarrow.parquet.read_metadata(path).num_rows)
    return 0 if path.suffix == ".gz" else lines


def _digest(path: Path) -> tuple[str, int]:
    """sha256 and number of lines of a file."""
    digest, lines = hashlib.sha256(), 0
    try:
        with path.open("rb") as file:
            while part := file.read(CHUNK):
                digest.update(part)
                lines += part.count(b"\n")
    except OSError as error:
        raise InputError(
            phrase("errors.common.file_place", place=path),
            expected=phrase("errors.common.readable_file"),
            got=str(error),
        ) from error
    return digest.hexdigest(), lines
