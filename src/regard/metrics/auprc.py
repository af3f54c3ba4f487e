"""Area under the precision-recall curve against a rationale."""

from __future__ import annotations

import numpy as np

from regard.measures.plausibility import average_precision
from regard.metrics._gold import free_values, gold
from regard.protocols import Case
from regard.records import Relevance, Score
from regard.registry import metric


@metric(
    better="higher",
    family="plausibility",
    cite="DeYoung et al. 2020",
    formula="sum over thresholds of (R_k - R_(k-1)) P_k: average precision of the ranking against the marked units",
    ceiling="1: the rationale itself",
    cost="none",
    misleads="what people mark is what convinces them, not what the model used; chance is the share of marked units "
    "(column `prevalence`), so long rationales score high by themselves",
)
def auprc(case: Case, relevance: Relevance) -> Score:
    """How well does the ranking separate the units that the rationale marks from the others, at every threshold?

    Comes out: one value per example in 0..1; NaN where an example has no rationale, or it marks no unit or all of them.
    Column `prevalence`: the share of marked units, which is what a random ranking scores. Signed relevances are ranked
    by signed value; values closer than 1e-6 are one threshold.

    >>> from regard.testing.toy import ToyCase
    >>> case = ToyCase(("truly a wonderful film",))
    >>> auprc(case, case.relevance("leave_one_out")).values.tolist()
    [1.0]
    """
    marked = gold(case)
    pairs = zip(free_values(case, relevance), marked, strict=True)
    values = np.array([np.nan if m is None else average_precision(v, m) for v, m in pairs], np.float64)
    prevalence = np.array([[np.nan if m is None else float(m.mean())] for m in marked]).reshape(-1, 1)
    return Score("auprc", relevance.method, case.ids, values, "higher", {}, {"prevalence": prevalence})
