"""Integrated gradients."""

from __future__ import annotations

import numpy as np

from regard.desk.questions import slopes_at
from regard.errors import InputError, phrase
from regard.protocols import Case, Point
from regard.records import Relevance
from regard.registry import EVERY, InProfile, explainer


@explainer(
    needs=("gradient",),
    signed=True,
    cite="Sundararajan et al. 2017",
    formula="r_j = (x_j - b_j) . mean over k of df/dx_j at b + ((k - 1/2) / steps) (x - b), k = 1..steps",
    cost="`steps` forwards and backwards, 2 forwards",
    passes_per="setting",
    misleads="if the baseline itself carries meaning, or too few steps leave the sum incomplete",
    profile=(InProfile(EVERY, 3),),
)
def integrated_gradients(case: Case, *, steps: int = 20, baseline: str | None = None) -> Relevance:
    """Input x gradient averaged along the straight line from a baseline to the input (midpoint rule).

    Returns one signed value per unit in the units of the objective. Special units are 0.
    baseline: start of the line; default: the model's preferred one (its mask token, else the mean of an array, else
    zeros); "pad" is the padding token, from which Captum's and ferret's examples start.
    Conservation: over all positions, special ones included, the values sum to f(x) - f(baseline); extras, one value per
    example: `completeness_error` (error of the sum), `difference` (f(x) - f(baseline)) and `special_sum` (values of the
    special units, reported as 0).

    >>> from regard.testing.toy import ToyCase
    >>> integrated_gradients(ToyCase(("wonderful film",)))[0].round(2).tolist()
    [0.0, 2.0, 0.11]
    """
    if steps < 1:
        raise InputError("integrated_gradients.steps", expected=phrase("errors.common.at_least"), got=str(steps))
    start = baseline or case.baselines[0]
    points = [Point(alpha=(k + 0.5) / steps, baseline=start) for k in range(steps)]
    rows, errors, differences, specials = [], [], [], []
    for units, slopes in zip(case.units, slopes_at(case, points), strict=True):
        whole = slopes.dot.mean(0)
        difference = slopes.end_values[0] - slopes.end_values[1]
        rows.append(np.where(units.free, whole, 0.0))
        errors.append(abs(float(whole.sum()) - difference))
        differences.append(difference)
        specials.append(float(whole[units.special].sum()))
    extras = {
        "completeness_error": np.array(errors),
        "difference": np.array(differences),
        "special_sum": np.array(specials),
    }
    return Relevance.of("integrated_gradients", case.ids, rows, signed=True, extras=extras)
