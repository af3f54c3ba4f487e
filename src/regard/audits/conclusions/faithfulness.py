"""Faithfulness of each method compared with attention: effect of removing its top units, and of keeping only them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from regard.audits.conclusions.run_facts import RunFacts
from regard.audits.conclusions.settings import Setting, setting
from regard.records import Floats, Score

ATTENTION = "attention"
COMPREHENSIVENESS, SUFFICIENCY = "comprehensiveness", "sufficiency"
"""Metrics of faithfulness, half each: the loss without a method's top units, and the part they keep."""

Column = dict[str, float]
"""Example -> value."""


@dataclass(frozen=True, slots=True)
class Faithfulness:
    """Comparison of a method with attention on the same examples. gain: mean difference of their effects.

    comprehensiveness, sufficiency: drop of the prediction without the top units, and with them alone, as (method,
    attention); None if the run has no such number.
    """

    method: str
    gain: float
    n: int
    comprehensiveness: tuple[float, float] | None
    sufficiency: tuple[float, float] | None


def faithfulness(facts: RunFacts) -> tuple[Faithfulness, ...]:
    """Compare every method with attention; empty without attention or without a shared metric."""
    others = [m for m in facts.methods if m != ATTENTION and m not in facts.baselines]
    return tuple(row for name in others if (row := _compared(facts, name)) is not None)


def most_faithful(facts: RunFacts, rows: tuple[Faithfulness, ...]) -> str | None:
    """Pick the method with the largest gain over attention; else attention, else any.

    Methods that ran on fewer than half as many examples as another are skipped.
    """
    most = max((row.n for row in rows), default=0)
    best = max((row for row in rows if 2 * row.n >= most), key=lambda row: round(row.gain, 6), default=None)
    if best is not None and best.gain > 0:
        return best.method
    return ATTENTION if ATTENTION in facts.methods else next(iter(facts.methods), None)


def _compared(facts: RunFacts, method: str) -> Faithfulness | None:
    own, parts = facts.own_operators.get(method), dict[str, tuple[Column, Column]]()
    for metric in (COMPREHENSIVENESS, SUFFICIENCY):
        scores = {(s.method, setting(s.where)): s for s in facts.scores if s.metric == metric}
        places = _places(scores, method, own)
        if places:
            own_values, attention_values = (
                _mean_of([scores[name, place] for place in places]) for name in (method, ATTENTION)
            )
            parts[metric] = own_values, attention_values
    columns = [column for pair in parts.values() for column in pair]
    both = [i for i in columns[0] if all(i in column for column in columns)] if columns else []
    if not both:
        return None
    turns = {COMPREHENSIVENESS: 1.0, SUFFICIENCY: -1.0}
    gains = [
        np.mean(
            [turns[m] * (own_values[i] - attention_values[i]) for m, (own_values, attention_values) in parts.items()]
        )
        for i in both
    ]
    comprehensiveness, sufficiency = (_means(parts.get(metric), both) for metric in (COMPREHENSIVENESS, SUFFICIENCY))
    return Faithfulness(method, float(np.mean(gains)), len(both), comprehensiveness, sufficiency)


def _places(scores: Mapping[tuple[str, Setting], Score], method: str, own: str | None) -> list[Setting]:
    """Settings that judged both methods, except the operator that the method uses itself."""
    return [
        place
        for name, place in scores
        if name == method and (ATTENTION, place) in scores and dict(place).get("operator") != own
    ]


def _means(pair: tuple[Column, Column] | None, both: list[str]) -> tuple[float, float] | None:
    if pair is None:
        return None
    own_values, attention_values = (float(np.mean([column[i] for i in both])) for column in pair)
    return own_values, attention_values


def _mean_of(scores: list[Score]) -> Column:
    """Mean over the operators; only if all of them have a value."""
    values: dict[str, list[float]] = {}
    for score in scores:
        for name, value in zip(score.ids, score.values, strict=True):
            if np.isfinite(value):
                values.setdefault(name, []).append(float(value))
    return {name: float(np.mean(some)) for name, some in values.items() if len(some) == len(scores)}


def by_units(values: Floats, special: list[bool]) -> Floats:
    """(units,): shares of the total magnitude, 0 for special units."""
    shares = np.where(np.asarray(special, np.bool_), 0.0, values)
    whole = float(np.abs(shares).sum())
    return shares / whole if whole > 0 else shares
