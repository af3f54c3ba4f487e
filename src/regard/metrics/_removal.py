"""Removing or keeping the most relevant units: what comprehensiveness and sufficiency share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.errors import InputError
from regard.measures.curves import bin_sizes
from regard.measures.ranking import order
from regard.protocols import Case
from regard.records import Bools, Floats, Relevance, Units

FRACTIONS = (0.01, 0.05, 0.1, 0.2, 0.5)
"""The bins of ERASER (DeYoung et al. 2020)."""


def probability_drops(
    case: Case, relevance: Relevance, fractions: Sequence[float], operator: str, *, keep: bool
) -> Floats:
    """(examples, fractions) p(x) - p(x without the top units), or with `keep` p(x) - p(the top units alone).

    Units are ranked by signed value, those that speak for the prediction first; ties by position. An example
    without removable units is NaN. Bins that stand for the same number of units are asked for once.
    """
    if not fractions or min(fractions) <= 0 or max(fractions) > 1:
        raise InputError("fractions", expected="numbers in 0..1, 0 excluded", got=str(tuple(fractions)))
    if operator not in case.operators:
        raise InputError(f"operator {operator!r}", expected=f"one of {', '.join(case.operators)}", got=operator)
    sizes, back = [], []
    for units in case.units:
        unique, inverse = np.unique(bin_sizes(int(units.free.sum()), fractions), return_inverse=True)
        sizes.append(unique[unique > 0])
        back.append(inverse)
    drops = [_drops(relevance[i], units, sizes[i], keep=keep) for i, units in enumerate(case.units)]
    base, answers = case.base(), case.removed(drops, operator)
    out = np.full((len(case.ids), len(fractions)), np.nan)
    for i, inverse in enumerate(back):
        if len(sizes[i]):
            out[i] = base.probability[i] - answers.probability[answers.rows(i)][inverse]
    return out


def _drops(values: Floats, units: Units, sizes: np.ndarray, *, keep: bool) -> Bools:
    free = np.flatnonzero(units.free)
    place = np.full(len(units), len(units))
    place[free[order(values[free])]] = np.arange(len(free))
    top = place < sizes[:, None]
    return np.logical_and(units.free, ~top) if keep else top
