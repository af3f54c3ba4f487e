"""Monotonicity of removal effects in the relevance."""

from __future__ import annotations

import numpy as np

from regard.measures.agreement import ragged, spearman
from regard.metrics._removal import BINS, removal_case, steps, walk
from regard.protocols import Case
from regard.records import Relevance, Score
from regard.registry import InProfile, metric


@metric(
    better="higher",
    needs=("removal",),
    cite="Arya et al. 2019; as a correlation: Nguyen & Martinez 2020",
    formula="Spearman over the steps of (rank of the step, fall of the objective per unit removed in it)",
    ceiling="leave_one_out",
    cost="one forward per bin (10; 5 in a standard audit), shared with deletion_area, aopc and decision_flip",
    misleads="redundant units matter only once the last of them is removed, however well they are ranked",
    detail=True,
    profile=(InProfile(("standard",), 14, "bins=5"), InProfile(("full",), 14)),
)
def monotonicity(case: Case, relevance: Relevance, *, bins: int = BINS, operator: str | None = None) -> Score:
    """Rank correlation between the removal order and the drop of the objective per removed unit.

    Returns one value per example in -1..1; NaN with fewer than two units, or where nothing ever changes. Curve
    `fall`: (examples, bins) of the objective per unit removed in each step; NaN where a step removes none (texts with
    fewer units than bins). Deviation: a correlation over the steps instead of the yes or no of Arya et al., which every
    order passes where all evidence has one sign. operator: removal operator.

    >>> from regard.testing.toy import ToyCase
    >>> case = ToyCase(("wonderful film with a dull end",))
    >>> monotonicity(case, case.relevance("leave_one_out")).values.round(3).tolist()
    [0.986]
    """
    case, way = removal_case(case, operator)
    grid = steps(bins)
    path = walk(case, relevance, grid, way, keep=False)
    removed = np.diff(path.count, axis=-1)
    fall = np.full(removed.shape, np.nan)
    np.divide(-np.diff(path.value, axis=-1), removed, out=fall, where=removed > 0)
    finite = np.isfinite(fall)
    ys = [row[some] for row, some in zip(fall, finite, strict=True)]
    values = ragged(spearman, [-np.arange(float(len(y))) for y in ys], ys)
    return relevance.score(
        "monotonicity",
        values,
        better="higher",
        where={"operator": operator or way},
        curves={"fall": fall},
        grid=grid[1:],
    )
