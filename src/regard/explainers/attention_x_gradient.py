"""Attention x gradient."""

from __future__ import annotations

from typing import Literal

import numpy as np

from regard.desk.site_questions import weight_gradients
from regard.explainers._alignment import pooled_heads
from regard.explainers._site_choice import chosen_sites
from regard.protocols import Case
from regard.records import Relevance
from regard.registry import explainer


@explainer(
    needs=("attention", "gradient"),
    signed=True,
    cite="Serrano & Smith 2019; Barkan et al. 2021",
    formula="r_j = mean over sites and heads of sum over rows i of a_ij (df / da_ij)",
    cost="1 forward, 1 backward",
    passes_per="input",
    misleads="with a saturated softmax, and for information that bypasses attention through the residual stream",
)
def attention_x_gradient(
    case: Case,
    *,
    layers: str | int = "last",
    heads: str | int = "mean",
    gradient: Literal["in_graph", "frozen"] = "in_graph",
) -> Relevance:
    """Attention weights times the gradient of the objective with respect to them, summed over rows.

    Returns one signed value per unit; special units 0. To first order, the value is the drop of the objective without
    that weight (rows not renormalised). If a linear layer reads one attention (a pooling of one head), the values,
    special units included, sum to the objective without its bias.
    layers: "last", "all" (mean) or a number. heads: "mean", "max" or a number.
    gradient: "in_graph" (later layers recompute their attention) or "frozen" (all other attention is fixed); both agree
    in the last layer.

    >>> from regard.testing.toy import ToyCase
    >>> attention_x_gradient(ToyCase(("wonderful film",)))[0].tolist()  # its answer does not depend on attention
    [0.0, 0.0, 0.0]
    """
    rows = []
    for i, units in enumerate(case.units):
        sites = chosen_sites(case, i, layers, "attention_x_gradient")
        slopes = {s.site.key: s for s in weight_gradients(case, i, gradient)}
        site_slopes = [slopes[site.site.key] for site in sites]
        read = [pooled_heads((s.weights.astype(np.float64) * s.gradient).sum(1), heads) for s in site_slopes]
        laid = np.mean([units.gathered(row) for row in read], axis=0)
        rows.append(np.where(units.free, laid, 0.0))
    return Relevance.of("attention_x_gradient", case.ids, rows, signed=True)
