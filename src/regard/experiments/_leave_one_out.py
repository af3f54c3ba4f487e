"""Leave-one-out effects relative to removing a random unit."""

from __future__ import annotations

import numpy as np

from regard.experiments._rankings import leave_one_outs
from regard.protocols import Case
from regard.records import Floats


def lost_without(case: Case) -> list[list[Floats]]:
    """Return per operator and example (free unit,) the drop of p relative to the mean over all units."""
    free = [np.flatnonzero(units.free) for units in case.units]
    drops = [np.eye(len(units), dtype=np.bool_)[f] for units, f in zip(case.units, free, strict=True)]
    ways = []
    for operator in leave_one_outs(case).values():
        answers = case.removed(drops, operator)
        rows = [answers.probability[answers.rows(i)] for i in range(len(free))]
        ways.append([np.asarray(p.mean() - p) if len(p) else p for p in rows])
    return ways
