"""Polarity-violation rate."""

from __future__ import annotations

import numpy as np

from regard.errors import InputError, phrase
from regard.metrics._removal import removal_case
from regard.protocols import Case
from regard.records import Relevance, Score
from regard.registry import THOROUGH, InProfile, metric

LEAST_EFFECT = 1e-6
"""Minimum change of the objective that has a sign."""


@metric(
    better="lower",
    amount=True,
    family="polarity",
    needs=("removal",),
    cite="Liu et al. 2022",
    formula="share of the top units (by size) whose relevance has another sign than f(x) - f(x without the unit)",
    ceiling="leave_one_out",
    cost="one forward per unit tested (1), shared with leave_one_out and the first bin of comprehensiveness",
    misleads="an unsigned map claims that every unit it marks supports the prediction; a map that marks the right "
    "unit and has no sign to give is counted as wrong where the unit speaks against the prediction",
    profile=(InProfile(THOROUGH, 16),),
)
def polarity_violation(case: Case, relevance: Relevance, *, top: int = 1, operator: str | None = None) -> Score:
    """Share of the most relevant units whose sign contradicts the effect of removing them (lower is better).

    Returns one value per example in 0..1; NaN where removing a top unit changes nothing, or no unit has a relevance.
    top: number of units tested, those with the largest absolute relevance. operator: removal operator.

    >>> from regard.testing.toy import ToyCase
    >>> case = ToyCase(("wonderful film with a dull end",))
    >>> polarity_violation(case, case.relevance("leave_one_out"), top=3).values.tolist()
    [0.0]
    """
    if top < 1:
        raise InputError("polarity_violation.top", expected=phrase("errors.common.at_least"), got=str(top))
    case, way = removal_case(case, operator)
    drops, signs = [], []
    for i, units in enumerate(case.units):
        free = np.flatnonzero(units.free)
        largest = free[np.argsort(-np.abs(relevance[i][free]), kind="stable")][:top]
        largest = largest[relevance[i][largest] != 0]
        drops.append(np.arange(len(units)) == largest[:, None])
        signs.append(np.sign(relevance[i][largest]))
    base, answers = case.base(), case.removed(drops, way)
    values = np.full(len(case.ids), np.nan)
    for i, sign in enumerate(signs):
        effects = base.value[i] - answers.value[answers.rows(i)]
        clear = np.abs(effects) >= LEAST_EFFECT
        if clear.any():
            values[i] = float(np.mean(sign[clear] * effects[clear] < 0))
    return relevance.score(
        "polarity_violation", values, better="lower", where={"operator": operator or way, "top": top}
    )
