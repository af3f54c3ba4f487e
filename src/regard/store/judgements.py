"""Judgements as JSON and back, and their storage in the ledger of a run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from regard.records import Contrast, Graded, Json, Judgement, Verdict, decoded, encoded
from regard.store.ledger import Ledger

_SHARE = ("share", "low", "high")
_TRIPLES = ("ahead", "effect")
"""An estimate with its interval."""
_NUMBERS = ("estimate", "low", "high", "p", "corrected")
"""Fields of a contrast that may be NaN, which JSON stores as null."""


ANSWER_IDS: Final = {"holds": "yes", "fails": "no", "mixed": "partly", "uninformative": "not settled"}
"""The judge's answer -> its id in every medium."""
OTHER_ANSWERS: Final = ("not tested", "not applicable", "too few")
"""Ids of questions without an answer, by rule."""
_NOT_ASKED, _REFUSED = {"message": "judge.rule.not_asked"}, {"message": "judge.rule.refused"}


def answer_id(verdict: Mapping[str, Any]) -> str:
    """Return yes, no, partly, not settled, not tested, not applicable or too few, for a stored verdict."""
    if ".not tested" in verdict["rule"]:
        return "not tested"
    if verdict.get("overruled") in (_NOT_ASKED, _REFUSED) or ".one head" in verdict["rule"]:
        return "not applicable"
    few = verdict["rule"] == "Q2.few" or (verdict["answer"] == "uninformative" and _no_interval(verdict))
    return "too few" if few else ANSWER_IDS[verdict["answer"]]


def _no_interval(verdict: Mapping[str, Any]) -> bool:
    """Return whether the open part was measured on too few draws for an interval."""
    contrasts = verdict.get("contrasts") or ()
    return any(c["n"] and c["low"] is None and c["high"] is None for c in contrasts[: verdict.get("rests_on", 0)])


def with_answer_ids(judgement: Mapping[str, Any]) -> dict[str, Json]:
    """Return a judgement as JSON whose verdicts also have their answer in the words of the terminal and the page."""
    return {**judgement, "verdicts": [{**v, "answer_id": answer_id(v)} for v in judgement["verdicts"]]}


def judgement_to_json(judgement: Judgement) -> dict[str, Json]:
    """Convert a judgement with its verdicts and contrasts; numbers that are not finite become None."""
    parts = {"verdicts": [_verdict(v) for v in judgement.verdicts], "graded": _graded(judgement.graded)}
    return dict(encoded({**_plain(judgement), **parts}))


def _graded(graded: Graded | None) -> dict[str, Any] | None:
    if graded is None:
        return None
    numbers = {name: _number(getattr(graded, name)) for name in _SHARE}
    lists = {"ties": [*graded.ties], "ruled_out": [*graded.ruled_out]}
    triples = {name: [_number(x) for x in getattr(graded, name)] for name in _TRIPLES}
    return {**_plain(graded), **numbers, **lists, **triples}


def _graded_from(value: Mapping[str, Any] | None) -> Graded | None:
    if value is None:
        return None
    numbers = {name: _number_from(value[name]) for name in _SHARE}
    triples = {name: tuple(_number_from(x) for x in value[name]) for name in _TRIPLES if name in value}
    lists = {"ties": tuple(value["ties"]), "ruled_out": tuple(value["ruled_out"])}
    return Graded(**{**_known(value, Graded), **numbers, **lists, **triples})


def _verdict(verdict: Verdict) -> dict[str, Any]:
    contrasts = [{**_plain(c), **{name: _number(getattr(c, name)) for name in _NUMBERS}} for c in verdict.contrasts]
    return {**_plain(verdict), "contrasts": contrasts}


def _plain(record: Judgement | Verdict | Contrast | Graded) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}


def _number(value: float) -> float | None:
    return round(value, 6) if math.isfinite(value) else None


def _number_from(value: float | None) -> float:
    return math.nan if value is None else value


def judgement_from_json(value: Mapping[str, Any]) -> Judgement:
    """Read the judgement that `judgement_to_json` wrote; None becomes NaN in numeric fields."""
    verdicts = []
    for v in value["verdicts"]:
        contrasts = tuple(_contrast(c) for c in v["contrasts"])
        texts = {name: decoded(v.get(name, "")) for name in ("sentence", "rule_in_words", "not_claimed", "overruled")}
        lists = {"contrasts": contrasts, "rows": tuple(v["rows"]), "decides_between": _range_from(v)}
        verdicts.append(Verdict(**{**_known(v, Verdict), **texts, **lists}))
    texts = {name: decoded(value[name]) for name in ("sentence", "why", "attention")}
    lists = {"classes": tuple(value["classes"]), "notes": tuple(map(decoded, value["notes"]))}
    parts = {"graded": _graded_from(value.get("graded")), "decides_between": _range_from(value)}
    return Judgement(**{**_known(value, Judgement), **texts, **lists, **parts, "verdicts": tuple(verdicts)})


def _range_from(value: Mapping[str, Any]) -> tuple[int, int | None] | None:
    """Return the number of examples that would decide; older runs store one number or none."""
    ends = value.get("decides_between")
    return None if ends is None else (ends[0], ends[1])


def _contrast(value: Mapping[str, Any]) -> Contrast:
    numbers = {name: _number_from(value[name]) for name in _NUMBERS}
    return Contrast(**{**_known(value, Contrast), **numbers, "name": decoded(value["name"])})


def _known(value: Mapping[str, Any], kind: type[Judgement | Verdict | Contrast | Graded]) -> dict[str, Any]:
    return {field.name: value[field.name] for field in fields(kind) if field.name in value}


def keep_judgements(path: Path, judgements: Sequence[Judgement]) -> None:
    """Store judgements in the ledger of a run, replacing earlier ones."""
    _note(path, judgements=[judgement_to_json(j) for j in judgements])


def keep_shift(path: Path, shift: Mapping[str, Json]) -> None:
    """Store the fate of a run's judgements on other data."""
    _note(path, shift=dict(shift))


def keep_plan(path: Path, plan: Mapping[str, Json], identity: Mapping[str, Json]) -> None:
    """Store the plan of a run, and its identity."""
    _note(path, plan={"plan": dict(plan), "identity": dict(identity)})


def _note(path: Path, **facts: Json) -> None:
    with Ledger.write(path) as ledger:
        ledger.note(**facts)
