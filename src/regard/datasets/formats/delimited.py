"""csv and tsv: a header line, then rows; streamed."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from regard.datasets.table import Row, Table, check_columns, lines
from regard.errors import InputError, phrase
from regard.records import Message

LONGEST_CELL = 1 << 24
"""Maximum characters of a cell: a longer one is an unclosed quotation mark, not a document."""


def open_delimited(path: Path) -> Table:
    """Open a csv or tsv file; the suffix sets the separator, unless the header clearly uses another."""
    first = next((line for _, line in lines(path) if line.strip()), "")
    if not first:
        raise InputError(
            phrase("errors.common.file_place", place=path.name),
            expected=phrase("errors.datasets.header_line_and_rows"),
            got=phrase("errors.datasets.empty_file"),
        )
    usual = "\t" if ".tsv" in path.suffixes else ","
    separator = usual if usual in first else max(usual + ",;\t|", key=first.count)
    separator = separator if separator in first else usual
    header = _header(first, separator, path.name)
    check_columns(header, phrase("errors.common.file_place", place=path.name))

    def walk(columns: Sequence[str] | None) -> Iterator[Row]:
        csv.field_size_limit(max(csv.field_size_limit(), LONGEST_CELL))
        number = 0

        def text() -> Iterator[str]:
            nonlocal number
            for count, line in lines(path):
                number = count
                yield line

        reader = csv.reader(text(), delimiter=separator)
        started = False
        begins = 1
        try:
            for cells in reader:
                here, begins = begins, number + 1
                if not started:
                    started = bool("".join(cells).strip())
                    continue
                if not cells:
                    continue
                problem = phrase("errors.datasets.cells_unlike_header", n=len(cells), header=len(header))
                fits = len(cells) == len(header)
                yield Row(here, dict(zip(header, cells, strict=False)), "" if fits else problem)
        except csv.Error as error:
            remedy = phrase("errors.datasets.close_quotation_mark_that_opened")
            subject = phrase("errors.common.line_path", path=path.name, number=begins)
            raise InputError(
                subject, expected=phrase("errors.datasets.csv_row"), got=str(error), remedy=remedy
            ) from None

    notes = () if separator == usual else (Message.of("data.separator", separator=repr(separator)),)
    return Table(path.name, header, walk, "line", notes=notes, typed=False)


def _header(line: str, separator: str, name: str) -> tuple[str, ...]:
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_CELL))
    try:
        return tuple(cell.strip() for cell in next(csv.reader([line], delimiter=separator)))
    except csv.Error as error:
        raise InputError(
            phrase("errors.common.file_place", place=name),
            expected=phrase("errors.datasets.header_line"),
            got=str(error),
        ) from None
