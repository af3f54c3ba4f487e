"""Uniform baseline: equal relevance for all units."""

from __future__ import annotations

import numpy as np

from regard.protocols import Case
from regard.records import Relevance
from regard.registry import explainer


@explainer(
    role="baseline",
    cite="Wiegreffe & Pinter 2019",
    cost="none",
    passes_per="none",
    formula="r_j = 1 / n",
    misleads="with ties broken by position it becomes a position baseline",
)
def uniform(case: Case) -> Relevance:
    """Uniform baseline: the same share for every unit.

    Returns 1 / n for each of the n free units, special units 0; the values sum to 1. Rankings of it are by
    position, since all are tied.

    >>> from regard.testing.toy import ToyCase
    >>> uniform(ToyCase(("wonderful film",)))[0].tolist()
    [0.0, 0.5, 0.5]
    """
    rows = [np.where(units.free, 1 / max(1, int(units.free.sum())), 0.0) for units in case.units]
    return Relevance.of("uniform", case.ids, rows)
