"""Leave-one-out."""

from __future__ import annotations

import numpy as np

from regard.protocols import Case
from regard.records import Relevance
from regard.registry import EVERY, InProfile, explainer


@explainer(
    needs=("removal",),
    signed=True,
    cite="Li et al. 2016; Jain & Wallace 2019",
    formula="r_j = f(x) - f(x without j)",
    cost="1 forward per unit",
    misleads="for redundant units (removing either changes nothing), or if the remainder is no natural input",
    profile=(InProfile(EVERY, 4),),
)
def leave_one_out(case: Case, *, operator: str | None = None) -> Relevance:
    """Drop of the objective when one unit is removed.

    Returns one signed value per unit, f(x) - f(x without the unit); positive supports the prediction. Special units
    stay and get 0. operator: removal operator; for text "mask" (the mask token), "delete" (shortens the text) and
    "attention_mask" (hides the unit from attention); the model's preferred one by default.
    Conservation: for an objective that is a sum over units the values sum to f(x) - f(nothing); otherwise they do not.
    Deviation from Jain & Wallace: the signed change of the log-odds rather than the distance of the outputs; its
    absolute value ranks units the same way for two classes.

    >>> from regard.testing.toy import ToyCase
    >>> leave_one_out(ToyCase(("wonderful film",)))[0].round(2).tolist()
    [0.0, 2.0, 0.11]
    """
    base = case.base()
    answers = case.removed([np.eye(len(units), dtype=np.bool_)[units.free] for units in case.units], operator)
    rows = []
    for i, units in enumerate(case.units):
        values = np.zeros(len(units))
        values[units.free] = base.value[i] - answers.value[answers.rows(i)]
        rows.append(values)
    return Relevance.of("leave_one_out", case.ids, rows, signed=True)
