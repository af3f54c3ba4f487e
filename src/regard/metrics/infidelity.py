"""Infidelity."""

from __future__ import annotations

from typing import Literal

import numpy as np

from regard.errors import InputError, phrase
from regard.metrics._removal import removal_case
from regard.protocols import Case
from regard.records import Bools, Json, Relevance, Score, Units
from regard.registry import THOROUGH, InProfile, metric


@metric(
    better="lower",
    amount=True,
    needs=("removal",),
    cite="Yeh et al. 2019",
    formula="E over random sets S of (b sum of relevance in S - (f(x) - f(x without S)))^2, over E of (f(x) - f(x "
    "without S))^2; b >= 0 fitted per example",
    ceiling="leave_one_out",
    cost="`draws` forwards (10), the same sets for every method",
    misleads="large sets dominate, and removing them leaves the training distribution; a flat positive relevance "
    "already separates large sets from small ones, so compare with random, not with 1",
    detail=True,
    profile=(InProfile(THOROUGH, 15),),
)
def infidelity(
    case: Case,
    relevance: Relevance,
    *,
    draws: int = 10,
    scale: Literal["fit", "none"] = "fit",
    operator: str | None = None,
) -> Score:
    """Squared error between the summed relevance of random sets of units and the effect of removing them.

    Returns one value per example; with scale="fit" in 0..1, the share of the effects that the relevance leaves
    unexplained once its scale is fitted (attention has none of its own); with "none" the plain mean squared error in
    units of the objective, for additive methods. NaN where no removal changes anything.
    operator: removal operator.

    >>> from regard.testing.toy import ToyCase
    >>> case = ToyCase(("wonderful film with a dull end",))
    >>> infidelity(case, case.relevance("leave_one_out")).values.round(6).tolist()
    [0.0]
    """
    if draws < 2:
        raise InputError("infidelity.draws", expected=phrase("errors.common.at_least_two"), got=str(draws))
    case, way = removal_case(case, operator)
    drops = [_sets(case, i, units, draws) for i, units in enumerate(case.units)]
    base, answers = case.base(), case.removed(drops, way)
    values = np.full(len(case.ids), np.nan)
    for i, drop in enumerate(drops):
        if not len(drop):
            continue
        effect = base.value[i] - answers.value[answers.rows(i)]
        predicted = drop @ relevance[i]
        whole = float(np.mean(effect**2))
        if whole > 0:
            if scale == "fit":
                b = max(0.0, float(predicted @ effect)) / max(float(predicted @ predicted), np.finfo(float).tiny)
                values[i] = float(np.mean((b * predicted - effect) ** 2)) / whole
            else:
                values[i] = float(np.mean((predicted - effect) ** 2))
    where: dict[str, Json] = {"operator": operator or way, "scale": scale}
    return relevance.score("infidelity", values, better="lower", where=where)


def _sets(case: Case, i: int, units: Units, draws: int) -> Bools:
    """Sample (draws, n) sets of free units, all sizes equally likely, the same for every method and operator."""
    n = int(units.free.sum())
    out = np.zeros((draws if n else 0, len(units)), np.bool_)
    if n:
        rng = case.rng(i, "infidelity", draws)
        size = rng.integers(1, n + 1, size=(draws, 1))
        out[:, units.free] = np.argsort(np.argsort(rng.random((draws, n)), axis=-1), axis=-1) < size
    return out
