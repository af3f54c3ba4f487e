"""Norms of value-weighted attention with the residual stream and LayerNorm."""

from __future__ import annotations

import numpy as np

from regard.desk.site_questions import decomposition
from regard.explainers._alignment import on_units, rows_read
from regard.explainers._decomposition import mixing_ratio, norm_matrix
from regard.explainers._site_choice import chosen_sites
from regard.protocols import Case
from regard.records import Relevance
from regard.registry import explainer


@explainer(
    needs=("attention",),
    cite="Kobayashi et al. 2021",
    formula="r_j = mean over read rows i of ||LN(sum over heads of a_ij v_j W_O + [i = j] x_i)||_2",
    cost="1 forward, 1 per site, and as many as there are heads",
    passes_per="layer",
    misleads="it covers one layer only, whose positions already mix many units; see globenc and alti",
)
def value_norms_residual(case: Case, *, layers: str | int = "last", renormalise: bool = True) -> Relevance:
    """Norm of each unit's contribution to a position, with residual stream and LayerNorm.

    Returns one non-negative value per unit, special units 0, the others summing to 1 with `renormalise`; the
    contribution of key j at position i is LN(sum over heads of weight x value x W_O + x_i where j = i), LN being linear
    at its observed spread. In pre-norm models no LayerNorm follows the sum. In cross-attention and pooling no key is
    the query, so the residual belongs to no key, and a model that only pools gets `value_norms`.
    layers: "last", "all" (mean) or a number.
    Extras, one value per example: `decomposition_error`, `special_mass`, `sites`, and for self-attention `mixing_ratio`
    (share of the other units in the rows that the objective reads).

    >>> from regard.testing.toy import ToyCase
    >>> value_norms_residual(ToyCase(("wonderful film",), flavour="layers"))[0].round(2).tolist()
    [0.0, 0.96, 0.04]
    """
    name = "value_norms_residual"
    rows, masses, errors, counts, ratios = [], [], [], [], []
    for i, units in enumerate(case.units):
        sites = chosen_sites(case, i, layers, name)
        parts = decomposition(case, i, [site.site.key for site in sites])
        read = []
        for site, part in zip(sites, parts, strict=True):
            row = norm_matrix(part, name)[list(rows_read(case, i, site))].mean(0)
            read.append(row / (row.sum() or 1.0))
        values, mass = on_units(read, units, renormalise=renormalise)
        rows.append(values)
        masses.append(mass)
        errors.append(max(part.error for part in parts))
        counts.append(float(len(sites)))
        pairs = zip(sites, parts, strict=True)
        ratios.append(float(np.mean([mixing_ratio(part, name, rows_read(case, i, site)) for site, part in pairs])))
    extras = {"decomposition_error": np.array(errors), "special_mass": np.array(masses), "sites": np.array(counts)}
    if np.isfinite(ratios).all():
        extras["mixing_ratio"] = np.array(ratios)
    return Relevance.of(name, case.ids, rows, extras=extras)
