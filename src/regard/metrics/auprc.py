"""Average precision against a rationale: area under the precision-recall curve, by its steps."""

from __future__ import annotations

import numpy as np

from regard.measures.plausibility import average_precision, expected_average_precision
from regard.metrics._rationale import free_values, gold
from regard.protocols import Case
from regard.records import Bools, Floats, Relevance, Score
from regard.registry import EVERY, InProfile, metric


@metric(
    better="higher",
    amount=True,
    family="plausibility",
    cite="Manning et al. 2008 (average precision); Bestgen 2015 (chance); DeYoung et al. 2020 (rationales)",
    formula="AP = sum over thresholds of (R_k - R_(k-1)) P_k against the marked units",
    ceiling="1: the rationale itself",
    cost="none",
    misleads="people mark the evidence that convinces them, not the evidence the model used; long rationales score "
    "high by themselves: compare with `chance`, the exact mean over all orders of the same values",
    differs="it is what ERASER's code calls `average_precision`; the `auprc` of that code joins the points of the "
    "precision-recall curve by straight lines (trapezoids): lower or equal without ties, and higher where a threshold "
    "ties many units (0.5 + m / 2n instead of m / n for m of n units marked, if all are tied)",
    profile=(InProfile(EVERY, 52),),
)
def auprc(case: Case, relevance: Relevance) -> Score:
    """Average precision of the relevance ranking against the rationale.

    Returns one value per example in 0..1; NaN if an example has no rationale, or it marks no unit or all of them.
    Column `chance`: the exact mean over all orders of the same values, the score of a random ranking; without ties (H_n
    + (m - 1) / (n - 1) * (n - H_n)) / n for m of n units marked, H_n the harmonic number. It exceeds the share of
    marked units (column `prevalence`): 0.34 for one of eight. Both are NaN where the value is. Ranks by signed value;
    values closer than 1e-6 are one threshold.

    >>> from regard.testing.toy import ToyCase
    >>> case = ToyCase(("truly a wonderful film",))
    >>> auprc(case, case.relevance("leave_one_out")).values.tolist()
    [1.0]
    """
    pairs = [*zip(free_values(case, relevance), gold(case), strict=True)]
    values, chance, prevalence = (
        np.array([np.nan if m is None else measure(v, m) for v, m in pairs], np.float64)
        for measure in (average_precision, expected_average_precision, _prevalence)
    )
    columns = {"chance": chance[:, None], "prevalence": prevalence[:, None]}
    return relevance.score("auprc", values, better="higher", curves=columns)


def _prevalence(values: Floats, marked: Bools) -> float:
    """Return the share of marked units; NaN if all are marked."""
    return float("nan") if marked.all() else float(marked.mean())
