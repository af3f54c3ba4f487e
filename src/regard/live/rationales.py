"""Rationales marked by hand, stored with author and date."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regard.errors import InputError, Unsupported, phrase
from regard.live.jobs import positive
from regard.present.pack.records import UnitsEntry
from regard.records import Example, Json
from regard.store.rationales import Mark, keep_mark, read_marks


def marks_of(path: Path | None, example: str) -> dict[str, Json]:
    """Return the rationales marked for this example."""
    return {"marks": [] if path is None else [m.to_json() for m in read_marks(path) if m.id == example]}


def store_rationale(
    path: Path | None, example: str, inputs: Mapping[str, Any], units: UnitsEntry, body: Mapping[str, Any]
) -> dict[str, Json]:
    """Store the units of a request and return all rationales of the example."""
    if path is None:
        raise Unsupported(
            phrase("errors.live.marking_rationale"),
            expected=phrase("errors.live.run_or_rationales_file"),
            got=phrase("errors.live.no_place_keep"),
        )
    units_marked, author = body.get("units"), body.get("author")
    if not isinstance(units_marked, list) or len(units_marked) > len(units.names) or not isinstance(author, str):
        raise InputError(
            phrase("errors.live.mark"),
            expected=phrase("errors.live.list_units_and_author"),
            got=str(type(units_marked).__name__),
        )
    numbers = sorted({positive(u, "unit") for u in units_marked})
    wrong = [u for u in numbers if u >= len(units.names) or units.special[u] or units.part[u] != 0]
    if wrong:
        raise InputError(
            phrase("errors.live.mark"),
            expected=phrase("errors.live.units_first_text_that_not_special"),
            got=phrase("errors.common.unit_bad", bad=wrong[0]),
        )
    places = tuple(tuple(float(x) for x in units.places[u]) for u in numbers)
    about: dict[str, Json] = {k: v for k, v in inputs.items() if isinstance(v, str)}
    return {"marks": [m.to_json() for m in keep_mark(path, Mark(example, places, author, about=about))]}


def text_id(example: Example) -> str:
    """Return an id of the text that is the same in every session."""
    text = "\n".join(str(example.inputs[k]) for k in sorted(example.inputs) if isinstance(example.inputs[k], str))
    return hashlib.sha256(text.encode()).hexdigest()[:12] if text else example.id
