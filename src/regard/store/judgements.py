"""Judgements as JSON and back, and their storage in the ledger of a run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from regard.records import Contrast, Json, Judgement, Verdict, decoded, encoded
from regard.store.ledger import Ledger

_NUMBERS = ("estimate", "low", "high", "p", "corrected")
"""Fields of a contrast that may be NaN, which JSON stores as null."""


def judgement_to_json(judgement: Judgement) -> dict[str, Json]:
    """Convert a judgement with its verdicts and contrasts; numbers that are not finite become None."""
    return dict(encoded({**_plain(judgement), "verdicts": [_verdict(v) for v in judgement.verdicts]}))


def _verdict(verdict: Verdict) -> dict[str, Any]:
    contrasts = [{**_plain(c), **{name: _number(getattr(c, name)) for name in _NUMBERS}} for c in verdict.contrasts]
    return {**_plain(verdict), "contrasts": contrasts}


def _plain(record: Judgement | Verdict | Contrast) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}


def _number(value: float) -> float | None:
    return round(value, 6) if math.isfinite(value) else None


def judgement_from_json(value: Mapping[str, Any]) -> Judgement:
    """Read the judgement that `judgement_to_json` wrote; None becomes NaN where a number stood."""
    verdicts = []
    for v in value["verdicts"]:
        contrasts = tuple(_contrast(c) for c in v["contrasts"])
        texts = {name: decoded(v.get(name, "")) for name in ("sentence", "rule_in_words", "not_claimed", "overruled")}
        verdicts.append(Verdict(**{**_known(v, Verdict), **texts, "contrasts": contrasts, "rows": tuple(v["rows"])}))
    texts = {name: decoded(value[name]) for name in ("sentence", "why", "attention")}
    lists = {"classes": tuple(value["classes"]), "notes": tuple(map(decoded, value["notes"]))}
    return Judgement(**{**_known(value, Judgement), **texts, **lists, "verdicts": tuple(verdicts)})


def _contrast(value: Mapping[str, Any]) -> Contrast:
    numbers = {name: float("nan") if value[name] is None else value[name] for name in _NUMBERS}
    return Contrast(**{**_known(value, Contrast), **numbers, "name": decoded(value["name"])})


def _known(value: Mapping[str, Any], kind: type[Judgement | Verdict | Contrast]) -> dict[str, Any]:
    return {field.name: value[field.name] for field in fields(kind) if field.name in value}


def keep_judgements(path: Path, judgements: Sequence[Judgement]) -> None:
    """Store judgements in the ledger of a run, replacing earlier ones."""
    _note(path, judgements=[judgement_to_json(j) for j in judgements])


def keep_shift(path: Path, shift: Mapping[str, Json]) -> None:
    """Store how the judgements of a run fared on other data."""
    _note(path, shift=dict(shift))


def _note(path: Path, **facts: Json) -> None:
    with Ledger.write(path) as ledger:
        ledger.note(**facts)
