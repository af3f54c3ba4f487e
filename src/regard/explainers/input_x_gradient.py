"""Input x gradient."""

from __future__ import annotations

import numpy as np

from regard.desk.questions import slopes_at
from regard.protocols import Case, Point
from regard.records import Relevance
from regard.registry import EVERY, InProfile, explainer


@explainer(
    needs=("gradient",),
    signed=True,
    cite="Shrikumar et al. 2016; Denil et al. 2014",
    formula="r_j = x_j . df/dx_j",
    cost="1 forward, 1 backward",
    passes_per="input",
    misleads="where the model saturates or has a kink at the input: it is the slope at one point",
    profile=(InProfile(EVERY, 2),),
)
def input_x_gradient(case: Case) -> Relevance:
    """Input times gradient of the objective, summed over the features of each unit.

    Returns one signed value per unit, in the units of the objective (log-odds of a class); positive supports the
    prediction. Special units are 0.
    Conservation: for an objective that is linear in the inputs of its free units the values sum to f(x) - f(those
    inputs all 0); for any other they do not.

    >>> from regard.testing.toy import ToyCase
    >>> input_x_gradient(ToyCase(("wonderful film",)))[0].round(2).tolist()
    [0.0, 2.0, 0.11]
    """
    slopes = slopes_at(case, [Point()])
    rows = [np.where(units.free, s.dot[0], 0.0) for units, s in zip(case.units, slopes, strict=True)]
    return Relevance.of("input_x_gradient", case.ids, rows, signed=True)
