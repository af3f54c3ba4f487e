"""Judgements as JSON and back, and in a run's book."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from regard.records import Contrast, Json, Judgement, Verdict, decoded, encoded
from regard.store.ledger import Ledger

NUMBERS = ("estimate", "low", "high", "p", "corrected")
"""Fields of a contrast that may be undefined."""


def judgement_to_json(judgement: Judgement) -> dict[str, Json]:
    """Everything, verdicts and contrasts too; numbers that are not finite become None."""
    verdicts = [{**_fields(v), "contrasts": [_contrast(c) for c in v.contrasts]} for v in judgement.verdicts]
    return dict(encoded({**_fields(judgement), "verdicts": verdicts}))


def _fields(record: Judgement | Verdict | Contrast) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}


def _contrast(c: Contrast) -> dict[str, Any]:
    return {**_fields(c), **{name: _number(getattr(c, name)) for name in NUMBERS}}


def _number(value: float) -> float | None:
    return round(value, 6) if math.isfinite(value) else None


def judgement_from_json(value: Mapping[str, Any]) -> Judgement:
    """The judgement that `judgement_to_json` wrote; None comes back as NaN where a number stood."""
    verdicts = []
    for v in value["verdicts"]:
        contrasts = tuple(_contrast_from_json(c) for c in v["contrasts"])
        texts = {name: decoded(v.get(name, "")) for name in ("sentence", "rule_in_words", "not_claimed", "overruled")}
        verdicts.append(Verdict(**{**v, **texts, "contrasts": contrasts, "rows": tuple(v["rows"])}))
    texts = {name: decoded(value[name]) for name in ("sentence", "why", "attention")}
    lists = {"classes": tuple(value["classes"]), "notes": tuple(map(decoded, value["notes"]))}
    return Judgement(**{**value, **texts, **lists, "verdicts": tuple(verdicts)})


def _contrast_from_json(c: Mapping[str, Any]) -> Contrast:
    numbers = {name: math.nan if c[name] is None else c[name] for name in NUMBERS}
    return Contrast(**{**c, **numbers, "name": decoded(c["name"])})


def keep_judgements(path: Path, judgements: Sequence[Judgement]) -> None:
    """Enter them in the book of a run, in place of those that stood there."""
    _note(path, judgements=[judgement_to_json(j) for j in judgements])


def keep_shift(path: Path, found: Mapping[str, Json]) -> None:
    """Enter what became of the judgements of a run on other data."""
    _note(path, shift=dict(found))


def _note(path: Path, **facts: Json) -> None:
    book = Ledger.write(path)
    try:
        book.note(**facts)
    finally:
        book.close()
