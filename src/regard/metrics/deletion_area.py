"""Area under the deletion curve."""

from __future__ import annotations

from regard.measures.curves import area
from regard.metrics._removal import BINS, removal_case, steps, walk
from regard.protocols import Case
from regard.records import Relevance, Score
from regard.registry import InProfile, metric


@metric(
    better="lower",
    amount=True,
    needs=("removal",),
    cite="Petsiuk et al. 2018",
    formula="integral over s in 0..1 of p(x without its top s units), by trapezoids",
    ceiling="leave_one_out",
    cost="one forward per bin (10; 5 in a standard audit), shared with aopc, decision_flip and monotonicity",
    misleads="most inputs along the curve lie outside the training distribution; values depend on the model's "
    "confidence, so do not compare models by them",
    detail=True,
    profile=(InProfile(("standard",), 11, "bins=5"), InProfile(("full",), 11)),
)
def deletion_area(case: Case, relevance: Relevance, *, bins: int = BINS, operator: str | None = None) -> Score:
    """Area under the deletion curve: mean probability while the most relevant units are removed (lower is better).

    Returns one value per example in 0..1; NaN without removable units. Curve `probability`: (examples, bins + 1)
    over the share of units removed, from 0 to 1. operator: removal operator.

    >>> from regard.testing.toy import ToyCase
    >>> case = ToyCase(("wonderful film with a dull end",))
    >>> deletion_area(case, case.relevance("leave_one_out")).values.round(3).tolist()
    [0.368]
    """
    case, way = removal_case(case, operator)
    grid = steps(bins)
    curve = walk(case, relevance, grid, way, keep=False).probability
    return relevance.score(
        "deletion_area",
        area(curve, grid),
        better="lower",
        where={"operator": operator or way},
        curves={"probability": curve},
        grid=grid,
    )
