"""Leave-one-out."""

from __future__ import annotations

import numpy as np

from regard.desk.screening import screened
from regard.errors import InputError, phrase
from regard.protocols import Case
from regard.records import Relevance
from regard.registry import EVERY, InProfile, explainer


@explainer(
    needs=("removal",),
    signed=True,
    cite="Li et al. 2016; Jain & Wallace 2019",
    formula="r_j = f(x) - f(x without j)",
    cost="1 forward per unit; at most `most`",
    misleads="for redundant units (removing either changes nothing), or if the remainder is no natural input",
    profile=(InProfile(EVERY, 4),),
)
def leave_one_out(case: Case, *, operator: str | None = None, most: int | None = None) -> Relevance:
    """Drop of the objective when one unit is removed.

    Returns one signed value per unit, f(x) - f(x without the unit); positive supports the prediction. Special units
    stay and get 0. operator: removal operator; for text "mask" (the mask token), "delete" (shortens the text) and
    "attention_mask" (hides the unit from attention); the model's preferred one by default.
    most: passes per example; a longer input is screened coarse to fine (sentences, then words), and units that are not
    asked get the median of a random sample. Extras of screened inputs: `asked` (units asked one by one),
    `largest_sampled` (the largest effect in the random sample) and `missed` (the share of the other units that may have
    a larger one, at 95 % confidence).
    Conservation: for an objective that is a sum over units the values sum to f(x) - f(nothing); otherwise they do not.
    Deviation from Jain & Wallace: the signed change of the log-odds rather than the distance of the outputs; its
    absolute value ranks units the same way for two classes.

    >>> from regard.testing.toy import ToyCase
    >>> leave_one_out(ToyCase(("wonderful film",)))[0].round(2).tolist()
    [0.0, 2.0, 0.11]
    """
    if most is not None and most < 1:
        raise InputError("leave_one_out", expected=phrase("errors.explainers.most_at_least"), got=str(most))
    effects = screened(case, operator, most)
    extras = {}
    if not np.isnan(effects.largest).all():
        sizes = np.array([float(mask.sum()) for mask in effects.asked])
        extras = {"asked": sizes, "largest_sampled": effects.largest, "missed": effects.missed}
    return Relevance.of("leave_one_out", case.ids, effects.values, signed=True, extras=extras)
