"""A file as rows that can be walked more than once, whatever its format."""

from __future__ import annotations

import codecs
import io
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from regard.errors import InputError, phrase
from regard.files import open_binary, reason, shown_size
from regard.records import Text

LONGEST_LINE: Final = 1 << 28
"""Maximum bytes of one line: an image of 4,000 x 4,000 pixels in JSON has fewer."""
MOST_COLUMNS: Final = 100_000
MOST_LISTED: Final = 40
"""Maximum column names in a message."""


class Row(NamedTuple):
    """Table row: its number (line or row, from 1), its cells, or its fault."""

    number: int
    values: Mapping[str, Any]
    problem: Text = ""


class RowError(Exception):
    """An unusable row with the expected and actual value; becomes an InputError or a count."""

    def __init__(self, expected: Text, got: Text) -> None:
        self.expected, self.got = expected, got
        super().__init__(expected, got)


@dataclass(frozen=True, slots=True)
class Table:
    """Table of rows. walk(columns) yields them; formats that can read single columns read only those.

    labels: names of coded labels by column, if the format has them. counted: "line" or "row". typed: False if every
    cell is a string (csv), so that 0 and "0" cannot be distinguished. split: split of these rows, if the source has
    splits. folder: base directory of paths in its cells.
    """

    name: str
    columns: tuple[str, ...]
    walk: Callable[[Sequence[str] | None], Iterator[Row]]
    counted: str = "row"
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[Text, ...] = ()
    typed: bool = True
    split: str | None = None
    folder: Path | None = None


def lines(path: Path, longest: int = LONGEST_LINE) -> Iterator[tuple[int, str]]:
    """Yield numbered lines of a UTF-8 file (.gz too), with their ends; an error names the line of an invalid byte.

    A line ends with a line feed; in a file that begins without any, with a carriage return.
    """
    with open_binary(path) as file:
        number = 0
        try:
            for number, raw in enumerate(_split(file, longest), 1):
                _check_line(raw, number, path.name, longest)
                yield number, raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            bad = error.object[error.start : error.start + 1].hex()
            remedy = phrase("errors.datasets.iconv_latin_utf_if_latin", path=shlex.quote(path.name))
            problem = phrase("errors.datasets.byte_at_column", bad=bad, start=error.start + 1)
            raise InputError(
                phrase("errors.common.line_path", path=path.name, number=number),
                expected=phrase("errors.common.utf_text"),
                got=problem,
                remedy=remedy,
            ) from None
        except (OSError, EOFError) as error:
            subject = phrase("errors.datasets.after_line", path=path.name, number=number)
            raise InputError(subject, expected=phrase("errors.common.readable_file"), got=reason(error)) from None


def check_columns(names: Sequence[str], subject: Text) -> None:
    """Reject duplicate column names and too many columns."""
    if len(names) > MOST_COLUMNS:
        raise InputError(
            subject,
            expected=phrase("errors.datasets.at_most_columns", most_columns=MOST_COLUMNS),
            got=f"{len(names):,}",
        )
    repeated = next((name for name, count in Counter(names).items() if count > 1), None)
    if repeated is not None:
        raise InputError(
            subject,
            expected=phrase("errors.datasets.column_names_that_differ"),
            got=phrase("errors.datasets.more_than_once", repeated=repr(repeated[:80])),
        )


def listed(names: Sequence[str]) -> Text:
    """List column names for a message: the first ones and the number of others.

    >>> listed(["a", "b"]), listed([])
    ('a, b', '(none)')
    """
    first = ", ".join(name[:80] for name in names[:MOST_LISTED])
    more = len(names) - MOST_LISTED
    return (phrase("errors.datasets.and_more", first=first, more=more) if more > 0 else first) or "(none)"


def _split(file: BinaryIO, longest: int) -> Iterator[bytes]:
    """Yield lines with their ends; an overlong line is cut after `longest` + 1 bytes, for the caller to refuse."""
    start = file.peek(1) if isinstance(file, io.BufferedReader) else b""
    if b"\r" in start and b"\n" not in start:
        # Latin-1 maps every byte to itself, so that the reader of universal line ends can be used on bytes
        with io.TextIOWrapper(file, encoding="latin-1", newline="") as text:
            while line := text.readline(longest + 1):
                yield line.encode("latin-1")
        return
    while raw := file.readline(longest + 1):
        yield raw


def _check_line(raw: bytes, number: int, name: str, longest: int) -> None:
    wide = number == 1 and raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    zero = raw.find(b"\0")
    if wide or zero >= 0:
        remedy = phrase("errors.datasets.iconv_utf_utf_if_utf", name=shlex.quote(name))
        problem = "UTF-16" if wide else phrase("errors.datasets.zero_byte_at_column_utf", zero=zero + 1)
        raise InputError(
            phrase("errors.common.line_path", path=name, number=number),
            expected=phrase("errors.common.utf_text"),
            got=problem,
            remedy=remedy,
        )
    if len(raw) > longest:
        expected = phrase("errors.datasets.lines_at_most", longest=shown_size(longest))
        raise InputError(
            phrase("errors.common.line_path", path=name, number=number),
            expected=expected,
            got=phrase("errors.common.longer_one"),
        )
