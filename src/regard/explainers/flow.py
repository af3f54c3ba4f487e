"""Attention flow."""

from __future__ import annotations

import numpy as np

from regard.explainers._alignment import on_units, pooled_heads
from regard.explainers._chain import chain_of
from regard.measures.flow import max_flows
from regard.measures.rollout import with_residual
from regard.protocols import Case, SiteAttention
from regard.records import Floats, Relevance
from regard.registry import explainer


@explainer(
    needs=("attention",),
    cite="Abnar & Zuidema 2020",
    formula="r_j = maximum flow from the read rows to unit j through edges of capacity residual I + (1 - residual) A",
    cost="1 forward, one maximum flow per unit",
    misleads="in deep models most flows saturate (see `saturation`) and only show the attention that the first "
    "layer pays to a unit; it is not class-specific and ignores values and feed-forward layers",
    differs="the authors' code takes the maximum over all rows; here only the rows that the objective reads count",
)
def flow(case: Case, *, residual: float = 0.5, heads: str | int = "mean", renormalise: bool = True) -> Relevance:
    """Maximum flow from the output to each unit, with attention weights as capacities.

    Returns one non-negative value per unit, special units 0, the others summing to 1 with `renormalise`.
    Mixes layers with the identity for the residual stream, as `rollout` does; output rows share the source, and a
    pooling or cross-attention on top becomes the source. For a model that only pools: its attention.
    Extras, one value per example: `saturation`, the share of units whose flow equals the bound min(inflow, first-layer
    attention to the unit), so that the layers between do not matter; `special_mass`; `sites`.

    >>> from regard.testing.toy import ToyCase
    >>> flow(ToyCase(("wonderful film",), flavour="layers"))[0].round(2).tolist()
    [0.0, 0.68, 0.32]
    """

    def pooled(site: SiteAttention) -> Floats:
        return pooled_heads(site.dense().weights[0], heads)

    rows, masses, counts, shares = [], [], [], []
    for i, units in enumerate(case.units):
        chain = chain_of(case, i, "flow")
        flows = max_flows([with_residual(pooled(site), residual) for site in chain.layers], chain.entrance(pooled))
        total = flows.values.sum() or 1.0
        values, mass = on_units([flows.values / total], units, renormalise=renormalise)
        rows.append(values)
        masses.append(mass)
        counts.append(float(len(chain.layers)))
        free = flows.saturated[[key for keys in units.free_keys for key in keys]]
        shares.append(float(free.mean()) if len(free) else 0.0)
    extras = {"saturation": np.array(shares), "special_mass": np.array(masses), "sites": np.array(counts)}
    return Relevance.of("flow", case.ids, rows, extras=extras)
