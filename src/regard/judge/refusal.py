"""Verdicts of a run whose model does not repeat its answers: none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from regard.judge.judge import ALONE, BESIDE
from regard.records import Json, Judgement, Verdict

WHY = "the model does not answer the same input the same way"
SENTENCE = f"Nothing can be said about this map: {WHY}."


def refused(judgement: Judgement, measured: str) -> Judgement:
    """The judgement without any answer; its numbers stay. measured: the model's noise, in words."""
    return replace(
        judgement,
        reading="undecided",
        sentence=SENTENCE,
        why=WHY,
        verdicts=tuple(_refused(v) for v in judgement.verdicts),
        classes=(),
        notes=(measured, *judgement.notes),
        decides_at=None,
    )


def _refused(verdict: Verdict) -> Verdict:
    sentence = (BESIDE if verdict.contrasts else ALONE).format(why=WHY)
    rule = f"{verdict.rule.partition(',')[0]}, refused"
    rows = tuple(_open_row(row) for row in verdict.rows)
    return replace(
        verdict, answer="uninformative", sentence=sentence, rule=rule, rows=rows, decides_at=None, rests_on=0
    )


def _open_row(row: Mapping[str, Json]) -> Mapping[str, Json]:
    """One class by one operator, without its answer."""
    return {**row, "answer": "imprecise"} if "answer" in row else row
