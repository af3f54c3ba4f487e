"""Effective number of units."""

from __future__ import annotations

import numpy as np

from regard.measures.complexity import shares
from regard.measures.entropy import effective_number
from regard.protocols import Case
from regard.records import Relevance, Score
from regard.registry import THOROUGH, InProfile, metric


@metric(
    better="none",
    amount=True,
    family="complexity",
    cite="Bhatt et al. 2020 (entropy); Hill 1973 (its exponential)",
    formula="exp(- sum of s log s), s the magnitudes as shares of their sum",
    ceiling="1: everything in one unit",
    cost="none",
    misleads="grows with text length; a sparse relevance may still be wrong",
    profile=(InProfile(THOROUGH, 30),),
)
def effective_units(case: Case, relevance: Relevance) -> Score:
    """Effective number of units: k for a relevance shared evenly by k units.

    Returns one value per example in 1..n, over the units that may be removed; NaN where all are 0. Column: `length`.

    >>> from regard.testing.toy import ToyCase
    >>> case = ToyCase(("wonderful film with a dull end",))
    >>> effective_units(case, case.relevance("leave_one_out")).values.round(3).tolist()
    [2.773]
    """
    rows = [row[units.free] for row, units in zip(relevance, case.units, strict=True)]
    values = np.array([float(effective_number(shares(row))) if np.any(row) else np.nan for row in rows])
    length = np.array([[float(len(row))] for row in rows]).reshape(-1, 1)
    return relevance.score("effective_units", values, better="none", curves={"length": length})
