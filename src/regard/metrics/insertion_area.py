"""Area under the insertion curve."""

from __future__ import annotations

from regard.measures.curves import area
from regard.metrics._removal import BINS, removal_case, steps, walk
from regard.protocols import Case
from regard.records import Relevance, Score
from regard.registry import InProfile, metric


@metric(
    better="higher",
    amount=True,
    needs=("removal",),
    cite="Petsiuk et al. 2018",
    formula="integral over s in 0..1 of p(the top s units of x alone), by trapezoids",
    ceiling="leave_one_out",
    cost="one forward per bin (10; 5 in a standard audit)",
    misleads="a few units alone are rarely a natural input; values depend on the model's confidence, so do not "
    "compare models by them",
    detail=True,
    profile=(InProfile(("standard",), 12, "bins=5"), InProfile(("full",), 12)),
)
def insertion_area(case: Case, relevance: Relevance, *, bins: int = BINS, operator: str | None = None) -> Score:
    """Area under the insertion curve: mean probability while the most relevant units are inserted.

    Returns one value per example in 0..1; NaN without removable units. Curve `probability`: (examples, bins + 1) over
    the share of inserted units, from 0 to 1. operator: removal operator for the other units.

    >>> from regard.testing.toy import ToyCase
    >>> case = ToyCase(("wonderful film with a dull end",))
    >>> insertion_area(case, case.relevance("leave_one_out")).values.round(3).tolist()
    [0.884]
    """
    case, way = removal_case(case, operator)
    grid = steps(bins)
    curve = walk(case, relevance, grid, way, keep=True).probability
    return relevance.score(
        "insertion_area",
        area(curve, grid),
        better="higher",
        where={"operator": operator or way},
        curves={"probability": curve},
        grid=grid,
    )
