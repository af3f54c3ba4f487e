"""Verdicts of a run whose model does not repeat its answers: none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from regard.judge.judge import silenced
from regard.records import Json, Judgement, Message, Text, Verdict

WHY = Message("judge.because.not_repeatable")


def refused(judgement: Judgement, measured: Text) -> Judgement:
    """The judgement without any answer; its numbers stay. measured: the model's noise, in words."""
    return replace(
        judgement,
        reading="undecided",
        sentence=Message.of("judge.refused", why=WHY),
        why=WHY,
        verdicts=tuple(_refused(v) for v in judgement.verdicts),
        classes=(),
        notes=(measured, *judgement.notes),
        decides_at=None,
        graded=None,
    )


def _refused(verdict: Verdict) -> Verdict:
    rows = tuple(_open_row(row) for row in verdict.rows)
    return replace(silenced(verdict, WHY, "refused"), rows=rows, rests_on=0)


def _open_row(row: Mapping[str, Json]) -> Mapping[str, Json]:
    """Row of one class by one operator, without its answer."""
    return {**row, "answer": "imprecise"} if "answer" in row else row
