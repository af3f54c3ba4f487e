"""Area over the perturbation curve."""

from __future__ import annotations

from regard.measures import curves
from regard.metrics._removal import BINS, probability_drops, removal_case, steps
from regard.protocols import Case
from regard.records import Relevance, Score
from regard.registry import InProfile, metric


@metric(
    better="higher",
    needs=("removal",),
    cite="Samek et al. 2017",
    formula="1 / (bins + 1) sum over k = 0..bins of p(x) - p(x without its top k / bins units); the term k = 0 is 0",
    ceiling="leave_one_out",
    cost="one forward per bin (10; 5 in a standard audit), shared with deletion_area, decision_flip and monotonicity",
    misleads="after removing everything all methods are equal, so differences look small; values depend on the "
    "model's confidence, so do not compare models by them",
    detail=True,
    profile=(InProfile(("standard",), 10, "bins=5"), InProfile(("full",), 10)),
)
def aopc(case: Case, relevance: Relevance, *, bins: int = BINS, operator: str | None = None) -> Score:
    """Area over the perturbation curve: mean probability drop while the most relevant units are removed.

    Returns one value per example in -1..1; NaN without removable units. Curve `drop`: (examples, bins) over the
    share of units removed, so that any other convention can be computed from it. Divisor: bins + 1, as in the paper;
    comprehensiveness is the same with ERASER's bins and without the term k = 0. operator: removal operator.

    >>> from regard.testing.toy import ToyCase
    >>> case = ToyCase(("wonderful film with a dull end",))
    >>> aopc(case, case.relevance("leave_one_out")).values.round(3).tolist()
    [0.401]
    """
    case, way = removal_case(case, operator)
    grid = steps(bins)[1:]
    drops = probability_drops(case, relevance, grid, way, keep=False)
    values = curves.aopc(drops, count_zero_bin=True)
    return relevance.score(
        "aopc", values, better="higher", where={"operator": operator or way}, curves={"drop": drops}, grid=grid
    )
