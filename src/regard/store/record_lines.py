"""Resumable file of JSON lines: a first line that identifies its writer, then records."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from regard.errors import InputError, Text, phrase
from regard.store.blobs import room_on_disk, write_atomically
from regard.store.ledger import canonical
from regard.store.shapes import ANYTHING, Mismatch, Shape, decoded, line_of, table

ANY_OBJECT = table(ANYTHING)


class RecordLines:
    """The records of a file, and the place where further ones go.

    A last line that a stop cut off is dropped. A first line of other content than `identity` is refused.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any], shape: Shape) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = whole_lines(path, shape, phrase("errors.store.remove_that_line_prompt_measured"))
        if lines and canonical(lines[0]) != canonical(dict(identity)):
            different = sorted(key for key in {*lines[0], *identity} if lines[0].get(key) != identity.get(key))
            raise InputError(
                f"--out {path.parent}",
                expected=phrase("errors.store.new_directory_or_one_same"),
                got=phrase("errors.store.one_with_another", different=", ".join(different)),
                remedy=phrase("errors.common.another_out"),
            )
        self.records: list[dict[str, Any]] = lines[1:]
        # whole or not at all: a stop while the old lines are written again must not lose them
        with room_on_disk(path):
            write_atomically(path, b"".join(map(line_of, lines or [dict(identity)])))
        self._file: BinaryIO = path.open("ab")

    def add(self, record: dict[str, Any]) -> None:
        """Write a record and flush it to the file."""
        with room_on_disk(self.path):
            self._file.write(line_of(record))
            self._file.flush()
        self.records.append(record)

    def __enter__(self) -> RecordLines:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        with suppress(OSError):  # `add` reported what could not be written
            self._file.close()


def whole_lines(path: Path, shape: Shape, remedy: Text) -> list[dict[str, Any]]:
    """Return every line but a truncated last one; a damaged line in between is an error with this remedy."""
    if not path.exists():
        return []
    values: list[dict[str, Any]] = []
    *lines, _cut_off = path.read_bytes().split(b"\n")
    for number, text in enumerate(lines, 1):
        try:
            value = decoded(text)
            (ANY_OBJECT if number == 1 else shape)(value, "")
        except Mismatch as error:
            raise damaged_line(path, number, error, remedy) from error
        values.append(value)
    return values


def damaged_line(path: Path, number: int, mismatch: Mismatch, remedy: Text) -> InputError:
    """Return the error for a damaged line; the only remedy for a damaged first line is another file."""
    subject = (
        phrase("errors.common.file_line_field", file=path, number=number, place=mismatch.place)
        if mismatch.place
        else phrase("errors.common.file_line", file=path, number=number)
    )
    way_out = phrase("errors.common.another_out") if number == 1 else remedy
    return InputError(subject, expected=mismatch.expected, got=mismatch.got, remedy=way_out)
