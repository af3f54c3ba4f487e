"""Entropy of the relevance."""

from __future__ import annotations

import numpy as np

from regard.measures import entropy as measures
from regard.measures.complexity import shares
from regard.protocols import Case
from regard.records import Relevance, Score
from regard.registry import EVERY, InProfile, metric


@metric(
    better="none",
    amount=True,
    family="complexity",
    cite="Bhatt et al. 2020",
    formula="- sum of s log s, s the magnitudes as shares of their sum (nats); divided by log n",
    ceiling="0: everything in one unit",
    cost="none",
    misleads="a sparse relevance may be wrong: pointing at one wrong unit gives the smallest value",
    profile=(InProfile(EVERY, 4),),
)
def entropy(case: Case, relevance: Relevance) -> Score:
    """Normalized entropy of the relevance: 0 for one unit, 1 for all units alike.

    Returns one value per example in 0..1, over the units that may be removed; NaN where all are 0 or there are
    fewer than two. Columns: `nats` (not divided by log n) and `length`.

    >>> from regard.testing.toy import ToyCase
    >>> case = ToyCase(("wonderful film with a dull end",))
    >>> entropy(case, case.relevance("leave_one_out")).values.round(3).tolist()
    [0.569]
    """
    rows = [row[units.free] for row, units in zip(relevance, case.units, strict=True)]
    nats = np.array([float(measures.entropy(shares(row))) if np.any(row) else np.nan for row in rows])
    length = np.array([len(row) for row in rows], np.float64)
    values = np.full(len(rows), np.nan)
    np.divide(nats, np.log(np.maximum(length, 1)), out=values, where=length > 1)
    columns = {"nats": nats[:, None], "length": length[:, None]}
    return relevance.score("entropy", np.clip(values, 0, 1), better="none", curves=columns)
