"""jsonl (one object per line, streamed) and json (a list of objects, read whole)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from regard.datasets.table import Row, Table, check_columns, lines
from regard.errors import InputError, phrase
from regard.files import max_bytes, parse_json, reason

PEEKED = 200
"""Number of first objects whose keys are the columns, since some objects may lack keys."""


def open_json(path: Path) -> Table:
    """Open a file of JSON objects, one per line or in one list."""
    first = next((line.lstrip() for _, line in lines(path, max_bytes()) if line.strip()), "")
    if not first:
        raise InputError(
            phrase("errors.common.file_place", place=path.name),
            expected=phrase("errors.datasets.json_objects"),
            got=phrase("errors.datasets.empty_file"),
        )
    listed = first.startswith("[")

    def walk(columns: Sequence[str] | None) -> Iterator[Row]:
        if listed:
            yield from (_row(i, value) for i, value in enumerate(_whole(path), 1))
            return
        for number, line in lines(path):
            if line.strip():
                yield _parsed(number, line)

    peeked = list(islice(walk(None), PEEKED))
    if not any(row.values for row in peeked) and peeked:
        subject = f"{path.name}, {'item' if listed else 'line'} {peeked[0].number}"
        raise InputError(
            subject,
            expected=phrase("errors.datasets.json_object_per_line"),
            got=peeked[0].problem or phrase("errors.datasets.empty_object"),
        )
    columns = tuple(dict.fromkeys(str(name) for row in peeked for name in row.values))
    check_columns(columns, phrase("errors.common.file_place", place=path.name))
    return Table(path.name, columns, walk, "item" if listed else "line")


def _parsed(number: int, line: str) -> Row:
    try:
        return _row(number, parse_json(line))
    except json.JSONDecodeError as error:
        return Row(number, {}, phrase("errors.datasets.no_json_at_column", problem=error.msg, column=error.colno))
    except ValueError as error:
        return Row(number, {}, phrase("errors.datasets.no_json", problem=error))


def _row(number: int, value: Any) -> Row:
    if isinstance(value, dict):
        return Row(number, value)
    return Row(number, {}, phrase("errors.datasets.json_no_object", type=type(value).__name__))


def _whole(path: Path) -> list[Any]:
    try:
        value = parse_json("".join(line for _, line in lines(path, max_bytes())))
    except json.JSONDecodeError as error:
        raise InputError(
            phrase("errors.common.line_path", path=path.name, number=error.lineno), expected="JSON", got=error.msg
        ) from None
    except ValueError as error:
        raise InputError(
            phrase("errors.common.file_place", place=path.name), expected="JSON", got=reason(error)
        ) from None
    return value if isinstance(value, list) else [value]
