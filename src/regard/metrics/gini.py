"""Gini coefficient of the relevance."""

from __future__ import annotations

import numpy as np

from regard.measures import complexity
from regard.protocols import Case
from regard.records import Relevance, Score
from regard.registry import THOROUGH, InProfile, metric


@metric(
    better="none",
    amount=True,
    family="complexity",
    cite="Chalasani et al. 2020 (sparseness); Hurley & Rickard 2009",
    formula="sum over i of (2 i - n - 1) |e|_(i) / (n sum |e|), in rising order",
    ceiling="(n - 1) / n: everything in one unit",
    cost="none",
    misleads="a sparse relevance may be wrong: pointing at one wrong unit gives the largest value",
    profile=(InProfile(THOROUGH, 31),),
)
def gini(case: Case, relevance: Relevance) -> Score:
    """Gini coefficient of the relevance: 0 for all units alike, towards 1 for a single unit.

    Returns one value per example in 0..1, over the units that may be removed; NaN where all are 0.

    >>> from regard.testing.toy import ToyCase
    >>> case = ToyCase(("wonderful film with a dull end",))
    >>> gini(case, case.relevance("leave_one_out")).values.round(3).tolist()
    [0.628]
    """
    rows = [row[units.free] for row, units in zip(relevance, case.units, strict=True)]
    values = np.array([float(complexity.gini(row)) if np.any(row) else np.nan for row in rows])
    return relevance.score("gini", values, better="none")
