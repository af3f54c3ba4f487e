"""Saliency: gradient magnitude."""

from __future__ import annotations

import numpy as np

from regard.desk.questions import slopes_at
from regard.protocols import Case, Point
from regard.records import Relevance
from regard.registry import explainer


@explainer(
    needs=("gradient",),
    cite="Simonyan et al. 2014; Li et al. 2016",
    formula="r_j = ||df/dx_j||_2",
    cost="1 forward, 1 backward",
    passes_per="input",
    misleads="if a unit matters but a small change of it does not; it has no sign and ignores the input value",
)
def saliency(case: Case) -> Relevance:
    """Euclidean norm of the gradient of the objective over the features of each unit.

    Returns one non-negative value per unit; special units are 0. Not additive: no conservation law.
    Deviation from Simonyan et al.: the norm over features rather than their largest magnitude.

    >>> from regard.testing.toy import ToyCase
    >>> saliency(ToyCase(("wonderful film",)))[0].tolist()
    [0.0, 1.0, 1.0]
    """
    slopes = slopes_at(case, [Point()])
    rows = [np.where(units.free, s.norm[0], 0.0) for units, s in zip(case.units, slopes, strict=True)]
    return Relevance.of("saliency", case.ids, rows)
