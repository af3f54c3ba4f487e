"""Completeness error."""

from __future__ import annotations

import numpy as np

from regard.protocols import Case
from regard.records import Json, Relevance, Score
from regard.registry import THOROUGH, InProfile, metric


@metric(
    better="lower",
    amount=True,
    needs=("removal",),
    cite="Sundararajan et al. 2017 (completeness); Bach et al. 2015 (conservation)",
    formula="|sum of relevance - (f(x) - f(nothing))|, in units of the objective",
    ceiling="0: additive methods such as integrated_gradients, up to their steps",
    cost="none if the method reports its own difference, else one forward",
    misleads="a method may sum correctly and still distribute relevance wrongly; a method without a scale "
    "(attention, rollout) promises no completeness, so a violation does not refute it",
    profile=(InProfile(THOROUGH, 16),),
)
def completeness_error(case: Case, relevance: Relevance, *, operator: str | None = None) -> Score:
    """Absolute difference between the summed relevance and f(x) - f(baseline).

    Returns one value per example, 0 or more; NaN without removable units. f(nothing) is the method's own baseline
    where it reports one (extras `difference` and `special_sum`, as integrated gradients do), else the example with all
    units removed by `operator`. Columns: `sum` and `difference`, so that shares can be computed, and
    `own_baseline`, 1 where it is the method's own.

    >>> from regard.testing.toy import ToyCase
    >>> case = ToyCase(("wonderful film with a dull end",))
    >>> completeness_error(case, case.relevance("integrated_gradients")).values.round(6).tolist()
    [0.0]
    """
    way = operator or case.operators[0]
    free = np.array([bool(units.free.any()) for units in case.units])
    sums = np.array([float(row.sum()) for row in relevance])
    own = relevance.extras.get("difference")
    if own is not None and len(own) == len(case.ids):
        differences = np.asarray(own, np.float64)
        sums = sums + np.asarray(relevance.extras.get("special_sum", np.zeros(len(sums))))
        own_baseline = 1.0
    else:
        drops = [units.free[None] for units in case.units]
        differences = case.base().value - case.removed(drops, way).value
        own_baseline = 0.0
    values = np.where(free, np.abs(sums - differences), np.nan)
    columns = {
        "sum": sums[:, None],
        "difference": differences[:, None],
        "own_baseline": np.full((len(sums), 1), own_baseline),
    }
    where: dict[str, Json] = {"operator": way}
    return relevance.score("completeness_error", values, better="lower", where=where, curves=columns)
