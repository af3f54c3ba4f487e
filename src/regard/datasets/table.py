"""A file as rows that can be walked more than once, whatever its format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from regard.errors import InputError


class Row(NamedTuple):
    """One row: its number as a person counts (line or row), its cells, or what is wrong with it."""

    number: int
    values: Mapping[str, Any]
    problem: str = ""


class RowError(Exception):
    """A row that cannot be used: what was expected, what was found. It becomes an InputError or a count."""

    def __init__(self, expected: str, got: str) -> None:
        self.expected, self.got = expected, got
        super().__init__(expected, got)


@dataclass(frozen=True, slots=True)
class Table:
    """walk(columns) yields the rows; formats that can read single columns read only those.

    labels: names of coded labels by column, where the format knows them. counted: "line" or "row".
    typed: False where every cell is a string (csv), so that 0 and "0" cannot be told apart.
    split: the split that these rows are, where the source is divided into splits.
    """

    name: str
    columns: tuple[str, ...]
    walk: Callable[[Sequence[str] | None], Iterator[Row]]
    counted: str = "row"
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    typed: bool = True
    split: str | None = None


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines of a UTF-8 file (.gz too), ends kept; a byte that is no UTF-8 is an error that names its line."""
    with opened(path) as file:
        number = 0
        try:
            for number, raw in enumerate(file, 1):
                yield number, raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            bad = error.object[error.start : error.start + 1].hex()
            raise InputError(
                f"{path.name}, line {number}",
                expected="UTF-8 text",
                got=f"the byte 0x{bad} at column {error.start + 1}",
                remedy=f"iconv -f latin1 -t utf-8 {path.name} (if it is Latin-1)",
            ) from None
        except (OSError, EOFError) as error:
            raise InputError(f"{path.name}, after line {number}", expected="a readable file", got=str(error)) from None


def opened(path: Path) -> BinaryIO:
    """The file, unpacked on the way if it ends in .gz."""
    try:
        if path.suffix == ".gz":
            import gzip

            return gzip.open(path, "rb")  # type: ignore[return-value]
        return path.open("rb")
    except OSError as error:
        raise InputError(f"file {path}", expected="a readable file", got=error.strerror or str(error)) from None
