"""Rationales marked by hand: who calls which units decisive, kept with author and date."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regard.errors import InputError, Unsupported
from regard.live.jobs import positive
from regard.present.pack.records import UnitsEntry
from regard.records import Example, Json
from regard.store.rationales import Mark, keep_mark, read_marks


def marks_of(path: Path | None, example: str) -> dict[str, Json]:
    """What was marked in this example so far."""
    return {"marks": [] if path is None else [m.to_json() for m in read_marks(path) if m.id == example]}


def marked(
    path: Path | None, example: str, inputs: Mapping[str, Any], units: UnitsEntry, body: Mapping[str, Any]
) -> dict[str, Json]:
    """Keep the units of a request; all marks of the example."""
    if path is None:
        raise Unsupported("marking a rationale", expected="a run, or --rationales FILE", got="no place to keep it")
    given, author = body.get("units"), body.get("author")
    if not isinstance(given, list) or len(given) > len(units.names) or not isinstance(author, str):
        raise InputError("mark", expected="a list of units and an author", got=str(type(given).__name__))
    chosen = sorted({positive(u, "unit") for u in given})
    wrong = [u for u in chosen if u >= len(units.names) or units.special[u] or units.part[u] != 0]
    if wrong:
        raise InputError("mark", expected="units of the first text that are not special", got=f"unit {wrong[0]}")
    places = tuple(tuple(float(x) for x in units.places[u]) for u in chosen)
    about: dict[str, Json] = {k: v for k, v in inputs.items() if isinstance(v, str)}
    return {"marks": [m.to_json() for m in keep_mark(path, Mark(example, places, author, about=about))]}


def text_id(example: Example) -> str:
    """A text marked twice is one example, in whatever session it was typed."""
    said = "\n".join(str(example.inputs[k]) for k in sorted(example.inputs) if isinstance(example.inputs[k], str))
    return hashlib.sha256(said.encode()).hexdigest()[:12] if said else example.id
