"""Records of attacks as lines of JSON, and the file that an attack is continued from."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from regard.errors import InputError
from regard.evaluate.travelling import example_from_json, example_to_json
from regard.records import Attacked, Example, Json
from regard.store.blobs import room_on_disk, write_atomically
from regard.store.ledger import canonical

FILE = "attacks.jsonl"


def to_json(one: Attacked, attack: str, original: Example) -> dict[str, Json]:
    """One line: what was asked, what came of it, and both inputs."""
    return {
        "attack": attack, "id": one.id, "status": one.status, "why": one.why, "queries": one.queries,
        "label": original.label, "before": one.before, "after": one.after, "said_before": list(one.said_before),
        "said_after": list(one.said_after), "perturbed": _null(one.perturbed), "similarity": _null(one.similarity),
        "similarity_is": one.similarity_is, "curve": [list(point) for point in one.curve],
        "origin": None if one.origin is None else list(one.origin),
        "extras": {name: _null(value) for name, value in one.extras.items()},
        "notes": list(one.notes), "original": example_to_json(original),
        "adversarial": None if one.example is None else example_to_json(one.example),
    }  # fmt: skip


def _null(value: float) -> float | None:
    """JSON has no NaN, and readers other than Python's refuse it."""
    return value if math.isfinite(value) else None


def _nan(value: float | None) -> float:
    return math.nan if value is None else value


def from_json(value: Mapping[str, Any]) -> Attacked:
    made = value["adversarial"]
    return Attacked(
        value["id"], value["attack"], value["status"], value["queries"],
        None if made is None else example_from_json(made), value["before"], value["after"],
        tuple(value["said_before"]), tuple(value["said_after"]), _nan(value["perturbed"]),
        _nan(value["similarity"]), value["similarity_is"], tuple((int(q), float(p)) for q, p in value["curve"]),
        None if value["origin"] is None else tuple(value["origin"]),
        {name: _nan(number) for name, number in value["extras"].items()}, tuple(value["notes"]), value["why"],
    )  # fmt: skip


class Lines:
    """The file of an attack: a first line that says what was asked, then a line for every attack and example.

    A last line that was cut off by a stop is dropped, and written again when the attack goes on.
    """

    def __init__(self, folder: Path | None, who: Mapping[str, Json]) -> None:
        self.known: dict[tuple[str, str], Attacked] = {}
        self.path = None if folder is None else folder / FILE
        self._file: TextIO | None = None
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        whole = _whole(self.path)
        if whole and canonical(dict(whole[0])) != canonical(dict(who)):
            raise InputError(
                f"--out {folder}", expected="a new directory, or one with the same model, data, threat and seed",
                got="another attack", remedy="another --out",
            )  # fmt: skip
        self.known = {(line["attack"], line["id"]): from_json(line) for line in whole[1:]}
        # whole or not at all: a stop while the old lines are written again must not lose them
        lines = [json.dumps(line, ensure_ascii=False) + "\n" for line in whole or [dict(who)]]
        with room_on_disk(self.path):
            write_atomically(self.path, "".join(lines).encode("utf-8"))
        self._file = self.path.open("a", encoding="utf-8")

    def add(self, lines: Iterable[tuple[str, Attacked, Example]]) -> None:
        text = ""
        for attack, one, original in lines:
            self.known[attack, one.id] = one
            text += json.dumps(to_json(one, attack, original), ensure_ascii=False) + "\n"
        if self._file is not None and self.path is not None:
            with room_on_disk(self.path):
                self._file.write(text)
                self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            with suppress(OSError):  # what could not be written was said when it was added
                self._file.close()


def _whole(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    found: list[dict[str, Any]] = []
    lines = path.read_text("utf-8", "replace").split("\n")
    for text in lines:
        try:
            found.append(json.loads(text))
        except ValueError:
            break
    if (not found and len(lines) > 1) or not all(isinstance(line, dict) for line in found):
        raise InputError(str(path), expected="records of an attack", got="another file", remedy="another --out")
    return found
