"""Stepwise removal or insertion of the most relevant units, shared by the removal metrics.

Metrics with the same steps share their forward passes, which the desk computes once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.desk.changes import MaskTuned
from regard.errors import InputError, phrase
from regard.measures.curves import aopc, bin_sizes
from regard.measures.ranking import order
from regard.protocols import Case
from regard.records import Bools, Floats, Relevance, Score, Units

FRACTIONS = (0.01, 0.05, 0.1, 0.2, 0.5)
"""Bins of ERASER (DeYoung et al. 2020)."""
FINE_TUNED = "finetuned_mask"
"""Operator that masks units and runs the model's twin, which learned from masked inputs too."""
BINS = 10
"""Number of equal steps from nothing to everything."""


@dataclass(frozen=True, slots=True)
class Walk:
    """Model outputs at each step, (examples, steps); NaN for an example without removable units.

    count: number of units removed or kept at the step. same: 1 if the prediction equals that of the whole example, 0 if
    it flipped, NaN for models without classes.
    """

    probability: Floats
    value: Floats
    same: Floats
    count: Floats


def removal_case(case: Case, operator: str | None) -> tuple[Case, str]:
    """Return the case that computes removals by this operator (by default the model's first), and its own operator."""
    if operator == FINE_TUNED:
        return case.variant(MaskTuned()), "mask"
    return case, operator or case.operators[0]


def steps(bins: int) -> tuple[float, ...]:
    """Return the grid 0, 1/bins, ..., 1."""
    if bins < 2:
        raise InputError("bins", expected=phrase("errors.common.at_least_two"), got=str(bins))
    return tuple(k / bins for k in range(bins + 1))


def walk(case: Case, relevance: Relevance, fractions: Sequence[float], operator: str, *, keep: bool) -> Walk:
    """Remove the top units step by step, or with `keep` remove all others.

    Ranks units by signed value, so that those supporting the prediction come first; ties by position. Rounds fractions
    up to at least one unit (0 stays 0), and queries equal numbers of units once.
    """
    if not fractions or min(fractions) < 0 or max(fractions) > 1:
        raise InputError("fractions", expected=phrase("errors.metrics.numbers_in_range"), got=str(tuple(fractions)))
    if operator not in case.operators:
        raise InputError(
            phrase("errors.common.operator_name", name=repr(operator)),
            expected=phrase("errors.common.one_allowed", allowed=", ".join(case.operators)),
            got=operator,
        )
    sizes, back = [], []
    for units in case.units:
        n = int(units.free.sum())
        counts = np.where(np.asarray(fractions) > 0, bin_sizes(n, fractions), 0)
        unique, inverse = np.unique(counts, return_inverse=True)
        sizes.append(unique if n else unique[:0])
        back.append(inverse)
    drops = [_drops(relevance[i], units, sizes[i], keep=keep) for i, units in enumerate(case.units)]
    base, answers = case.base(), case.removed(drops, operator)
    shape = (len(case.ids), len(fractions))
    out = Walk(*(np.full(shape, np.nan) for _ in range(4)))
    decided = _decisions(base.distribution), _decisions(answers.distribution)
    for i, inverse in enumerate(back):
        if len(sizes[i]):
            rows = answers.rows(i)
            out.probability[i] = answers.probability[rows][inverse]
            out.value[i] = answers.value[rows][inverse]
            out.count[i] = sizes[i][inverse]
            if decided[0] is not None and decided[1] is not None:
                out.same[i] = (decided[1][rows] == decided[0][i])[inverse]
    return out


def eraser_score(
    metric: str, case: Case, relevance: Relevance, fractions: Sequence[float], operator: str | None, *, keep: bool
) -> Score:
    """Return the mean drop of the probability without the first units of each bin, or with `keep` from them alone."""
    case, way = removal_case(case, operator)
    drops = probability_drops(case, relevance, fractions, way, keep=keep)
    return relevance.score(
        metric,
        aopc(drops),
        better="lower" if keep else "higher",
        where={"operator": operator or way},
        curves={"drop": drops},
        grid=tuple(fractions),
    )


def probability_drops(
    case: Case, relevance: Relevance, fractions: Sequence[float], operator: str, *, keep: bool
) -> Floats:
    """Return (examples, fractions) p(x) - p(x without the top units), or with `keep` p(x) - p(top units alone)."""
    if not fractions or min(fractions) <= 0:
        raise InputError("fractions", expected=phrase("errors.metrics.numbers_in_excluded"), got=str(tuple(fractions)))
    return case.base().probability[:, None] - walk(case, relevance, fractions, operator, keep=keep).probability


def _decisions(distribution: Floats | None) -> np.ndarray | None:
    """Return the class of each row; for multi-label outputs, all labels packed into one key."""
    if distribution is None:
        return None
    if np.allclose(distribution.sum(-1), 1, atol=1e-3):
        return np.asarray(distribution.argmax(-1))
    yes = np.packbits(distribution > 0.5, axis=-1)
    return np.array([row.tobytes() for row in yes], object)


def _drops(values: Floats, units: Units, sizes: np.ndarray, *, keep: bool) -> Bools:
    free = np.flatnonzero(units.free)
    place = np.full(len(units), len(units))
    place[free[order(values[free])]] = np.arange(len(free))
    top = place < sizes[:, None]
    return np.logical_and(units.free, ~top) if keep else np.logical_and(units.free, top)
