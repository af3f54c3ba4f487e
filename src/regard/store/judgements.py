"""Judgements as JSON and back, and in a run's book."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from regard.records import Contrast, Json, Judgement, Verdict
from regard.store.ledger import Ledger


def judgement_to_json(judgement: Judgement) -> dict[str, Json]:
    """Everything, verdicts and contrasts too; numbers that are not finite become None."""
    j = judgement
    return {
        "reading": j.reading, "sentence": j.sentence, "why": j.why, "attention": j.attention, "n": j.n,
        "verdicts": [_verdict(v) for v in j.verdicts], "classes": list(j.classes), "margins": dict(j.margins),
        "notes": list(j.notes), "decides_at": j.decides_at,
    }  # fmt: skip


def _verdict(v: Verdict) -> dict[str, Json]:
    return {
        "question": v.question, "answer": v.answer, "sentence": v.sentence, "rule": v.rule,
        "rule_in_words": v.rule_in_words, "not_claimed": v.not_claimed,
        "contrasts": [_contrast(c) for c in v.contrasts], "rows": [dict(row) for row in v.rows],
        "decides_at": v.decides_at, "rests_on": v.rests_on,
    }  # fmt: skip


def _contrast(c: Contrast) -> dict[str, Json]:
    return {
        "name": c.name, "claim": c.claim, "margin": c.margin, "estimate": _number(c.estimate), "low": _number(c.low),
        "high": _number(c.high), "level": c.level, "n": c.n, "clusters": c.clusters, "p": _number(c.p),
        "corrected": _number(c.corrected), "where": dict(c.where),
    }  # fmt: skip


def _number(value: float) -> float | None:
    return round(value, 6) if math.isfinite(value) else None


def judgement_from_json(value: Mapping[str, Any]) -> Judgement:
    """The judgement that `judgement_to_json` wrote; None comes back as NaN where a number stood."""
    verdicts = tuple(
        Verdict(
            v["question"], v["answer"], v["sentence"], v["rule"], v["rule_in_words"], v["not_claimed"],
            tuple(_back(c) for c in v["contrasts"]), tuple(v["rows"]), v["decides_at"], v.get("rests_on", 0),
        )
        for v in value["verdicts"]
    )  # fmt: skip
    return Judgement(
        value["reading"], value["sentence"], value["why"], value["attention"], value["n"], verdicts,
        tuple(value["classes"]), value["margins"], tuple(value["notes"]), value["decides_at"],
    )  # fmt: skip


_CONTRAST = tuple(field.name for field in fields(Contrast))


def _back(c: Mapping[str, Any]) -> Contrast:
    numbers = {k: float("nan") if c[k] is None else c[k] for k in ("estimate", "low", "high", "p", "corrected")}
    return Contrast(**{**{name: c[name] for name in _CONTRAST if name in c}, **numbers})


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
