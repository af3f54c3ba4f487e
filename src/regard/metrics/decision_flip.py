"""Share of units to remove until the prediction flips."""

from __future__ import annotations

import numpy as np

from regard.errors import Unsupported, phrase
from regard.metrics._removal import BINS, removal_case, steps, walk
from regard.protocols import Case
from regard.records import Relevance, Score
from regard.registry import InProfile, metric


@metric(
    better="lower",
    amount=True,
    needs=("removal",),
    cite="Serrano & Smith 2019; Nguyen 2018",
    formula="smallest share of the most relevant units whose removal changes the decision; 1 where none does",
    ceiling="leave_one_out",
    cost="one forward per bin (10; 5 in a standard audit), shared with deletion_area, aopc and monotonicity",
    misleads="if the model falls back on the predicted class for empty inputs, no order flips it: compare "
    "`flipped`, the share of examples that flip at all; redundant evidence hides single units",
    detail=True,
    profile=(InProfile(("standard",), 13, "bins=5"), InProfile(("full",), 13)),
)
def decision_flip(case: Case, relevance: Relevance, *, bins: int = BINS, operator: str | None = None) -> Score:
    """Share of units, most relevant first, to remove until the prediction flips.

    Returns one value per example in 0..1, the share of units removed at the first of the steps at which the class
    is another one (1 where it never is); NaN without removable units. Column `flipped`: 1 where it changed, else 0.
    operator: removal operator. Unsupported for models that do not decide among classes.

    >>> from regard.testing.toy import ToyCase
    >>> case = ToyCase(("wonderful film with a terrible dull end",))
    >>> decision_flip(case, case.relevance("leave_one_out")).values.round(3).tolist()
    [0.143]
    """
    case, way = removal_case(case, operator)
    grid = steps(bins)
    if case.ids and case.base().distribution is None:
        raise Unsupported(
            "decision_flip",
            expected=phrase("errors.common.classifier"),
            got=phrase("errors.metrics.objective_without_classes"),
        )
    found = walk(case, relevance, grid, way, keep=False)
    free = np.array([int(units.free.sum()) for units in case.units])
    flipped = found.same == 0
    first = flipped.argmax(-1)
    share = found.count[np.arange(len(free)), first] / np.maximum(free, 1)
    ever = flipped.any(-1)
    values = np.where(free > 0, np.where(ever, share, 1.0), np.nan)
    column = np.where(free > 0, ever.astype(np.float64), np.nan)[:, None]
    return relevance.score(
        "decision_flip",
        values,
        better="lower",
        where={"operator": operator or way},
        curves={"flipped": column, "same": found.same},
        grid=grid,
    )
