"""Attention rollout."""

from __future__ import annotations

import numpy as np

from regard.explainers._alignment import on_units, pooled_heads
from regard.explainers._chain import chain_of
from regard.measures.rollout import rollout as product
from regard.protocols import Case, SiteAttention
from regard.records import Floats, Relevance
from regard.registry import EVERY, InProfile, explainer


@explainer(
    needs=("attention",),
    cite="Abnar & Zuidema 2020",
    formula="r = read rows of prod over layers of (residual I + (1 - residual) A)",
    cost="1 forward, one n x n product per layer",
    passes_per="input",
    misleads="in deep models it converges to the same row for all inputs; it is not class-specific and ignores "
    "values and feed-forward layers",
    differs="the authors' code takes the maximum over all rows; here only the rows that the objective reads count",
    profile=(InProfile(EVERY, 1),),
)
def rollout(case: Case, *, residual: float = 0.5, heads: str | int = "mean", renormalise: bool = True) -> Relevance:
    """Attention multiplied through the layers, each mixed with the identity for the residual stream.

    Returns one non-negative value per unit, special units 0, the others summing to 1 with `renormalise`.
    The rows are those that the objective reads. Where the model reads its last layer through a pooling or a
    cross-attention, that attention is the last factor (without residual).
    Needs square self-attention of one length in all layers; anything else is refused with the reason (a model that
    only pools: there, rollout would be its attention).
    Extras, one value per example: `special_mass` (dropped), `sites` (layers multiplied).

    >>> from regard.testing.toy import ToyCase
    >>> rollout(ToyCase(("wonderful film",), flavour="layers"))[0].round(2).tolist()
    [0.0, 0.76, 0.24]
    """

    def pooled(site: SiteAttention) -> Floats:
        return pooled_heads(site.dense().weights[0], heads)

    rows, masses, counts = [], [], []
    for i, units in enumerate(case.units):
        chain = chain_of(case, i, "rollout", bare=False)
        through = product([pooled(site) for site in chain.layers], residual=residual)
        values, mass = on_units([chain.entrance(pooled) @ through], units, renormalise=renormalise)
        rows.append(values)
        masses.append(mass)
        counts.append(float(len(chain.layers)))
    extras = {"special_mass": np.array(masses), "sites": np.array(counts)}
    return Relevance.of("rollout", case.ids, rows, extras=extras)
