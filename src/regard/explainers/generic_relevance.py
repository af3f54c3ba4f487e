"""Generic relevance propagation through attention."""

from __future__ import annotations

import numpy as np

from regard.desk.site_questions import weight_gradients
from regard.explainers._alignment import on_units
from regard.explainers._chain import chain_of
from regard.measures.propagation import Propagation
from regard.protocols import Case
from regard.records import Relevance
from regard.registry import explainer


@explainer(
    needs=("attention", "gradient"),
    cite="Chefer et al. 2021",
    formula="R <- R + A R, A = mean over heads of (a df/da)+, from the first site to the last; r = read rows of R",
    cost="1 forward, 1 backward, one n x n product per layer",
    passes_per="input",
    misleads="it keeps only positive evidence, and sees feed-forward layers only through the gradient",
    differs="the authors' code differentiates the logit of the class; here it is the objective of every method, the "
    "log-odds of the class against the rest (with two classes the difference of the logits)",
)
def generic_relevance(case: Case, *, renormalise: bool = True) -> Relevance:
    """Relevance propagated through self- and cross-attention by the positive part of attention x gradient.

    Returns one non-negative value per unit, special units 0, the others summing to 1 with `renormalise`.
    With A = mean over heads of (weights x gradient)+ at each site, from the first to the last: self-attention adds A R
    to the relevance R of its positions (and to their relevance to the input), cross-attention adds R_tt' A R_ss, both
    normalised as in the paper. Uses the rows that the objective reads, without the initial identity of R. A pooling is
    a cross-attention with one query: a model that only pools has the positive part of `attention_x_gradient`.
    Extras, one value per example: `special_mass`, `sites` (number of sites that carried relevance).

    >>> from regard.testing.toy import ToyCase
    >>> generic_relevance(ToyCase(("wonderful film",)))[0].tolist()  # its answer does not depend on attention
    [0.0, 0.0, 0.0]
    """
    rows, masses, counts = [], [], []
    for i, units in enumerate(case.units):
        chain = chain_of(case, i, "generic_relevance")
        source = {site.site.key for site in chain.layers}
        n = (chain.layers[0] if chain.layers else chain.top).shape[3]  # type: ignore[union-attr]
        carried = Propagation.start(n)
        layers_used = 0
        for s in weight_gradients(case, i):
            a = np.maximum(s.weights.astype(np.float64) * s.gradient, 0.0).mean(0)
            if s.site.key in source:
                carried = carried.through_source(a)
            elif s.site.kind in ("cross", "pooling") and a.shape[1] == n:
                carried = carried.across(a)
            elif carried.fits_target(a) and chain.top is not None:
                carried = carried.through_target(a)
            else:
                continue
            layers_used += 1
        row = carried.read(chain.rows, across=chain.top is not None)
        values, mass = on_units([row / (row.sum() or 1.0)], units, renormalise=renormalise)
        rows.append(values)
        masses.append(mass)
        counts.append(float(layers_used))
    return Relevance.of(
        "generic_relevance", case.ids, rows, extras={"special_mass": np.array(masses), "sites": np.array(counts)}
    )
