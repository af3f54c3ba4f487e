"""Records of attacks as lines of JSON, and the file that an attack is continued from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from regard.errors import InputError, phrase
from regard.message import decoded as message_of
from regard.message import encoded
from regard.records import Attacked, Example, Json
from regard.store.blobs import room_on_disk, write_atomically
from regard.store.example_json import example_from_json, example_to_json
from regard.store.ledger import canonical
from regard.store.record_lines import damaged_line, whole_lines
from regard.store.shapes import (
    ANYTHING,
    COUNT,
    NUMBER_OR_NAN,
    SCALAR,
    TEXT,
    WHOLE,
    Mismatch,
    choice,
    either,
    line_of,
    listed,
    optional,
    record,
    row,
    table,
)
from regard.store.stored_shapes import PLACES, WORDS

FILE = "attacks.jsonl"
_PROBABILITIES = listed(NUMBER_OR_NAN)
_ARRAY = record({"array": TEXT, "dtype": TEXT, "shape": listed(COUNT)})
_TRAVELLED = record(
    {
        "id": TEXT,
        "label": ANYTHING,
        "rationale": optional(PLACES),
        "group": optional(SCALAR),
        "parent": optional(TEXT),
        "slices": table(SCALAR),
        "inputs": table(either(record({"value": ANYTHING}), _ARRAY)),
    },
    {"alignment": optional(listed(row(COUNT, COUNT, COUNT, COUNT)))},
)
RECORD = record(
    {
        "attack": TEXT,
        "id": TEXT,
        "status": choice("success", "failed", "skipped"),
        "why": TEXT,
        "queries": COUNT,
        "before": optional(COUNT),
        "after": optional(COUNT),
        "said_before": _PROBABILITIES,
        "said_after": _PROBABILITIES,
        "perturbed": optional(NUMBER_OR_NAN),
        "similarity": optional(NUMBER_OR_NAN),
        "similarity_is": TEXT,
        "curve": listed(row(COUNT, NUMBER_OR_NAN)),
        "origin": optional(listed(WHOLE)),
        "extras": table(optional(NUMBER_OR_NAN)),
        "notes": listed(WORDS),
        "original": table(ANYTHING),
        "adversarial": optional(_TRAVELLED),
    }
)
"""The shape of a line after the first."""


def to_json(one: Attacked, attack: str, original: Example) -> dict[str, Json]:
    """Serialise one record: the request, the result, and both inputs."""
    return {
        "attack": attack,
        "id": one.id,
        "status": one.status,
        "why": one.why,
        "queries": one.queries,
        "label": original.label,
        "before": one.before,
        "after": one.after,
        "said_before": list(one.said_before),
        "said_after": list(one.said_after),
        "perturbed": _null(one.perturbed),
        "similarity": _null(one.similarity),
        "similarity_is": one.similarity_is,
        "curve": [list(point) for point in one.curve],
        "origin": None if one.origin is None else list(one.origin),
        "extras": {name: _null(value) for name, value in one.extras.items()},
        "notes": encoded(one.notes),
        "original": example_to_json(original),
        "adversarial": None if one.example is None else example_to_json(one.example),
    }


def _null(value: float) -> float | None:
    """Return None for NaN, which JSON does not have."""
    return value if math.isfinite(value) else None


def _nan(value: float | None) -> float:
    return math.nan if value is None else value


def from_json(value: Mapping[str, Any]) -> Attacked:
    adversarial = value["adversarial"]
    return Attacked(
        id=value["id"],
        attack=value["attack"],
        status=value["status"],
        queries=value["queries"],
        example=None if adversarial is None else example_from_json(adversarial),
        before=value["before"],
        after=value["after"],
        said_before=tuple(value["said_before"]),
        said_after=tuple(value["said_after"]),
        perturbed=_nan(value["perturbed"]),
        similarity=_nan(value["similarity"]),
        similarity_is=value["similarity_is"],
        curve=tuple((int(q), float(p)) for q, p in value["curve"]),
        origin=None if value["origin"] is None else tuple(value["origin"]),
        extras={name: _nan(number) for name, number in value["extras"].items()},
        notes=tuple(map(message_of, value["notes"])),
        why=value["why"],
    )


class Lines:
    """File of an attack: a first line with the request, then a line for every attack and example.

    A last line truncated by a stop is dropped, and rewritten when the attack resumes.
    """

    def __init__(self, folder: Path | None, who: Mapping[str, Json]) -> None:
        self.known: dict[tuple[str, str], Attacked] = {}
        self.path = None if folder is None else folder / FILE
        self._file: BinaryIO | None = None
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        remedy = phrase("errors.surveys.remove_that_line_example_attacked")
        whole = whole_lines(self.path, RECORD, remedy)
        if whole and canonical(dict(whole[0])) != canonical(dict(who)):
            raise InputError(
                f"--out {folder}",
                expected=phrase("errors.surveys.new_directory_or_one_with_same"),
                got=phrase("errors.surveys.another_attack"),
                remedy=phrase("errors.common.another_out"),
            )
        for number, line in enumerate(whole[1:], 2):
            try:
                self.known[line["attack"], line["id"]] = from_json(line)
            except ValueError as error:  # of an array: its base64, its type, its size
                mismatch = Mismatch("", phrase("errors.surveys.input_written"), str(error))
                raise damaged_line(self.path, number, mismatch, remedy) from error
        # whole or not at all: a stop while the old lines are written again must not lose them
        with room_on_disk(self.path):
            write_atomically(self.path, b"".join(map(line_of, whole or [dict(who)])))
        self._file = self.path.open("ab")

    def add(self, lines: Iterable[tuple[str, Attacked, Example]]) -> None:
        text = b""
        for attack, one, original in lines:
            self.known[attack, one.id] = one
            text += line_of(to_json(one, attack, original))
        if self._file is not None and self.path is not None:
            with room_on_disk(self.path):
                self._file.write(text)
                self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            with suppress(OSError):  # what could not be written was said when it was added
                self._file.close()
