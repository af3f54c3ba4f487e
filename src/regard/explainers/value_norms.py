"""Norms of value-weighted attention."""

from __future__ import annotations

import numpy as np

from regard.desk.site_questions import decomposition
from regard.explainers._alignment import on_units, rows_read
from regard.explainers._decomposition import one_head
from regard.explainers._site_choice import chosen_sites
from regard.measures.contributions import part_norms
from regard.protocols import Case
from regard.records import Relevance
from regard.registry import explainer


@explainer(
    needs=("attention",),
    cite="Kobayashi et al. 2020",
    formula="r_j = mean over read rows i of ||sum over heads of a_ij v_j W_O||_2",
    cost="1 forward, 1 per site, and as many as there are heads",
    passes_per="layer",
    misleads="it ignores the residual stream, which may carry most of a position; see value_norms_residual",
)
def value_norms(
    case: Case, *, layers: str | int = "last", heads: str | int = "all", renormalise: bool = True
) -> Relevance:
    """Norm of each unit's value-weighted attention output: ||sum over heads of weight x value x W_O||.

    Returns one non-negative value per unit, special units 0, the others summing to 1 with `renormalise`; read in the
    rows that the objective reads (their mean), at the sites that `attention` reads.
    layers: "last", "all" (mean) or a number. heads: "all" (their sum inside the norm) or the number of one.
    Where a model only pools (attention over the states of a recurrent network), this is weight x length of the state.
    Extras, one value per example: `decomposition_error` (how far the parts miss the whole, relative), `special_mass`,
    `sites`.

    >>> from regard.testing.toy import ToyCase
    >>> value_norms(ToyCase(("wonderful film",)))[0].round(2).tolist()
    [0.0, 1.0, 0.0]
    """
    rows, masses, errors, counts = [], [], [], []
    for i, units in enumerate(case.units):
        sites = chosen_sites(case, i, layers, "value_norms")
        parts = decomposition(case, i, [site.site.key for site in sites])
        read = []
        for site, part in zip(sites, parts, strict=True):
            weights, values = one_head(part, heads)
            read.append(part_norms(weights[:, list(rows_read(case, i, site))], values).mean(0))
        values, mass = on_units([row / (row.sum() or 1.0) for row in read], units, renormalise=renormalise)
        rows.append(values)
        masses.append(mass)
        errors.append(max(part.error for part in parts))
        counts.append(float(len(sites)))
    extras = {"decomposition_error": np.array(errors), "special_mass": np.array(masses), "sites": np.array(counts)}
    return Relevance.of("value_norms", case.ids, rows, extras=extras)
