"""Rationales marked by hand, stored beside a run: who marked which places of which example, and when.

`rationales.jsonl` has one line per example and author with the newest mark. The file is also a data set: with texts in
it, `regard audit MODEL --data rationales.jsonl` reads it directly.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from regard.errors import InputError, phrase
from regard.records import Json
from regard.store.blobs import room_on_disk, write_atomically
from regard.store.shapes import SCALAR, TEXT, Mismatch, decoded, line_of, record
from regard.store.stored_shapes import PLACES

FILE = "rationales.jsonl"
LONGEST_AUTHOR = 80
MARK = record({"id": SCALAR, "rationale": PLACES, "author": TEXT, "date": TEXT})


@dataclass(frozen=True, slots=True)
class Mark:
    """Rationale of one author for one example: places as in `Units.places`.

    about: the other fields of the line: the text, its pair, the label.
    """

    id: str
    rationale: tuple[tuple[float, ...], ...]
    author: str
    date: str = ""
    about: Mapping[str, Json] = field(default_factory=dict)

    def to_json(self) -> dict[str, Json]:
        places: list[Json] = [list(place) for place in self.rationale]
        return {"id": self.id, **self.about, "rationale": places, "author": self.author, "date": self.date}


def read_marks(file: Path) -> list[Mark]:
    """Read every mark, oldest first; return none if the file does not exist."""
    if not file.is_file():
        return []
    marks = []
    # split at \n alone: texts may contain other characters that Python treats as line ends
    for number, line in enumerate(file.read_bytes().split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            row = decoded(line)
            MARK(row, "")
        except Mismatch as error:
            place = error.place
            subject = (
                phrase("errors.common.file_line_field", file=file, number=number, place=place)
                if place
                else phrase("errors.common.file_line", file=file, number=number)
            )
            remedy = phrase("errors.store.fix_or_remove_that_line")
            raise InputError(subject, expected=error.expected, got=error.got, remedy=remedy) from error
        places = tuple(tuple(float(x) for x in place) for place in row["rationale"])
        marks.append(Mark(str(row["id"]), places, row["author"], row["date"], _about(row)))
    return marks


def keep_mark(file: Path, mark: Mark) -> list[Mark]:
    """Store a mark with today's date, replacing its author's earlier one; return all marks of the example.

    Readers see the old or the new file, never a part of it; writers in several processes wait for each other.
    """
    author = " ".join(mark.author.split())
    if not 0 < len(author) <= LONGEST_AUTHOR or not author.isprintable():
        expected = phrase("errors.store.name_at_most_characters", longest_author=LONGEST_AUTHOR)
        raise InputError(phrase("errors.store.author"), expected=expected, got=repr(mark.author[:90]))
    dated = Mark(mark.id, mark.rationale, author, datetime.now(UTC).isoformat(timespec="seconds"), mark.about)
    with room_on_disk(file.parent):
        file.parent.mkdir(parents=True, exist_ok=True)
        with _locked(file):
            others = [m for m in read_marks(file) if (m.id, m.author) != (dated.id, dated.author)]
            write_atomically(file, b"".join(line_of(m.to_json()) for m in (*others, dated)))
    return [m for m in (*others, dated) if m.id == mark.id]


def majority_rationales(marks: Sequence[Mark]) -> dict[str, tuple[tuple[float, ...], ...]]:
    """Map every marked example to the places that at least half of its authors marked.

    >>> a, b = Mark("0", ((0, 4), (5, 9)), "a"), Mark("0", ((5, 9),), "b")
    >>> c = Mark("0", ((5, 9),), "c")
    >>> majority_rationales([a, b])["0"], majority_rationales([a, b, c])["0"]
    (((0, 4), (5, 9)), ((5, 9),))
    """
    by_example: dict[str, list[Mark]] = {}
    for mark in marks:
        by_example.setdefault(mark.id, []).append(mark)
    places = {}
    for name, own_marks in by_example.items():
        votes = Counter(place for mark in own_marks for place in dict.fromkeys(mark.rationale))
        places[name] = tuple(sorted(place for place, count in votes.items() if 2 * count >= len(own_marks)))
    return places


def _about(row: Mapping[str, Any]) -> dict[str, Json]:
    return {k: v for k, v in row.items() if k not in ("id", "rationale", "author", "date")}


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    with open(file.with_name(file.name + ".lock"), "a") as lock:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(lock.fileno(), msvcrt.LK_LOCK, 1)
        else:
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
