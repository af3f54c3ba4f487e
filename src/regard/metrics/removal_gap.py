"""Area between the least- and the most-relevant-first removal curves."""

from __future__ import annotations

from regard.measures.curves import area
from regard.metrics._removal import BINS, removal_case, steps, walk
from regard.protocols import Case
from regard.records import Relevance, Score
from regard.registry import InProfile, metric


@metric(
    better="higher",
    needs=("removal",),
    cite="Ancona et al. 2018; Bluecher et al. 2024",
    formula="integral over s in 0..1 of p(x without its bottom s units) - p(x without its top s units), by trapezoids",
    ceiling="leave_one_out",
    cost="two forwards per bin (20; 10 in a standard audit), shared with deletion_area and insertion_area",
    misleads="both curves end at the empty input; what the model makes of half-empty inputs cancels only as far as "
    "both orders meet the same artefacts",
    detail=True,
    profile=(InProfile(("standard",), 17, "bins=5"), InProfile(("full",), 17)),
)
def removal_gap(case: Case, relevance: Relevance, *, bins: int = BINS, operator: str | None = None) -> Score:
    """Area between the curves of removing the least relevant units first and the most relevant units first.

    Returns one value per example in -1..1; 0 for a random order on average, negative for a reversed one; NaN without
    removable units. Curve `gap`: (examples, bins + 1) over the share of units removed. operator: removal operator.

    >>> from regard.testing.toy import ToyCase
    >>> case = ToyCase(("wonderful film with a dull end",))
    >>> removal_gap(case, case.relevance("leave_one_out")).values.round(3).tolist()
    [0.516]
    """
    case, way = removal_case(case, operator)
    grid = steps(bins)
    most_first = walk(case, relevance, grid, way, keep=False).probability
    # the top 1 - s units alone are what is left when the bottom s are gone
    least_first = walk(case, relevance, [1 - s for s in grid], way, keep=True).probability
    gap = least_first - most_first
    return relevance.score(
        "removal_gap",
        area(gap, grid),
        better="higher",
        where={"operator": operator or way},
        curves={"gap": gap},
        grid=grid,
    )
