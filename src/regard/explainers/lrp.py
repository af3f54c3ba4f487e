"""Layer-wise relevance propagation."""

from __future__ import annotations

import numpy as np

from regard.desk.questions import relevance_by_rules
from regard.models.propagation.rules import Rule
from regard.protocols import Case
from regard.records import Relevance
from regard.registry import EVERY, InProfile, explainer


@explainer(
    needs=("gradient",),
    signed=True,
    cite="Bach et al. 2015; Ali et al. 2022 (cp); Achtibat et al. 2024 (attnlrp)",
    formula="r_j = (x_j - b_j) . g_j, g the gradient of f by other rules: normalizations have constant divisors, "
    "nonlinearities the slope f(x) / x, products halves; attention weights are constants (cp) or factors (attnlrp)",
    cost="1 forward, 1 backward",
    passes_per="input",
    misleads="where biases and positions carry most of the objective (see the extras); about the choice of the "
    "attention weights, which cp takes as given; if the baseline itself carries meaning",
    profile=(InProfile(EVERY, 3),),
)
def lrp(case: Case, *, rule: Rule = "cp", baseline: str | None = None) -> Relevance:
    """Layer-wise relevance propagation: the objective, shared out backwards operation by operation.

    Returns one signed value per unit in the units of the objective. Special units are 0.
    rule: "cp" (attention weights are constants), "attnlrp" (attention is a product of which weights and values get half
    each), "ln" (the plain gradient, but for constant divisors of normalizations).
    baseline: the value is the relevance of a unit's difference from it; default: the model's preferred one, as in
    `integrated_gradients`. "zero" gives the relevance of the whole input.
    Conservation (cp, attnlrp): the values and the extras `special`, `absorbed_bias`, `absorbed_position` (and other
    constants), `absorbed_softmax`, `absorbed_baseline` and `absorbed_objective` (nonlinearity of the objective, 0 for
    two classes) sum to the extra `value`; one value per example each. A model on which this fails by more than 0.1 %,
    or whose output the rules change, is refused with the reason at first use.

    Patents: the README of LXT, the implementation by the authors of AttnLRP, says that LRP is patented and free of
    charge for personal and scientific use only. regard shares no code with it; check before commercial use.

    >>> from regard.testing.toy import ToyCase
    >>> lrp(ToyCase(("wonderful film",)))[0].round(2).tolist()
    [0.0, 2.0, 0.11]
    """
    rows = relevance_by_rules(case, rule, baseline or next(name for name in case.baselines if name != "resample"))
    extras = {"value": np.array([row.value for row in rows]), "special": np.array([row.special for row in rows])}
    accounts = rows[0].absorbed if rows else {}
    extras |= {f"absorbed_{name}": np.array([row.absorbed[name] for row in rows]) for name in accounts}
    return Relevance.of("lrp", case.ids, [row.units for row in rows], signed=True, extras=extras)
