"""Trust mark of one explanation: does removing its top units matter more than removing random ones?

    k       = a quarter of the free units, at least 1, at most 3
    marked  = |p - p(without the k units with the highest relevance)|
    chance  = mean of |p - p(without k random other units)| over DRAWS random sets
    matters = marked - chance >= FOUND

p is the probability of the predicted class. All variants of an example are one batch, by the model's preferred removal
operator. A mark is about one input and one map: units that others can replace do not matter by themselves, so a map
that marks them is "doubtful" without being wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from regard.judge.margins import FOUND
from regard.measures.ranking import order
from regard.protocols import Case
from regard.records import Bools, Floats, Ints, Relevance, Units

DRAWS, MOST_UNITS = 4, 3


@dataclass(frozen=True, slots=True)
class RemovalMark:
    """Mark of one example. units: removed positions. marked, chance: changes of the prediction, in 0..1."""

    units: tuple[int, ...]
    marked: float
    chance: float

    @property
    def matters(self) -> bool:
        return self.marked - self.chance >= FOUND


def removal_marks(case: Case, relevances: Mapping[str, Relevance]) -> dict[str, tuple[RemovalMark | None, ...]]:
    """Method -> mark of every example; None if fewer than two units can be removed.

    Empty for models that do not predict classes, or whose inputs have no removal operator.
    """
    if not relevances or not case.operators or case.base().distribution is None:
        return {}
    marks: dict[str, tuple[RemovalMark | None, ...]] = {}
    for method, relevance in relevances.items():
        try:
            marks[method] = _of_method(case, [relevance[i] for i in range(len(case.ids))])
        except Exception:  # a removal that fails leaves an explanation without its mark
            continue
    return marks


def _of_method(case: Case, rows: Sequence[Floats]) -> tuple[RemovalMark | None, ...]:
    tops = [_top(row, units) for row, units in zip(rows, case.units, strict=True)]
    drops = [_drops(case, i, top) for i, top in enumerate(tops)]
    base, answers = case.base(), case.removed(drops)
    marks: list[RemovalMark | None] = []
    for i, top in enumerate(tops):
        changes = np.abs(answers.probability[answers.rows(i)] - base.probability[i])
        measured = len(changes) > 1 and np.isfinite(changes).all()
        units = tuple(int(unit) for unit in top)
        marks.append(RemovalMark(units, float(changes[0]), float(changes[1:].mean())) if measured else None)
    return tuple(marks)


def _top(row: Floats, units: Units) -> Ints:
    """Positions of the units with the highest relevance; empty if there are too few to compare."""
    free = np.flatnonzero(units.free)
    if len(free) < 2:
        return np.zeros(0, np.int64)
    return free[order(np.asarray(row, np.float64)[free])[: max(1, min(MOST_UNITS, len(free) // 4))]]


def _drops(case: Case, i: int, top: Ints) -> Bools:
    """(1 + DRAWS, units): the marked units, then random sets of as many others."""
    units = case.units[i]
    if not len(top):
        return np.zeros((0, len(units)), np.bool_)
    others = np.setdiff1d(np.flatnonzero(units.free), top)
    drops = np.zeros((1 + DRAWS, len(units)), np.bool_)
    drops[0, top] = True
    for draw in range(DRAWS):
        drops[1 + draw, case.rng(i, "removal mark", draw).permutation(others)[: len(top)]] = True
    return drops
