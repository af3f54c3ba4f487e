"""Raw attention weights as relevance."""

from __future__ import annotations

import numpy as np

from regard.explainers._alignment import on_units, read_row, rows_read
from regard.explainers._site_choice import chosen_sites
from regard.protocols import Case
from regard.records import Relevance
from regard.registry import EVERY, InProfile, explainer


@explainer(
    needs=("attention",),
    cite="Bahdanau et al. 2015; Jain & Wallace 2019",
    formula="r_j = mean over sites, heads and read rows i of a_ij; special units 0, rest / its sum",
    cost="1 forward",
    passes_per="input",
    misleads="in deep Transformers, special tokens attract most of the mass; it ignores value vectors",
    profile=(InProfile(EVERY, 0),),
)
def attention(
    case: Case,
    *,
    layers: str | int = "last",
    heads: str | int = "mean",
    renormalise: bool = True,
    drop_sink: bool = False,
) -> Relevance:
    """Attention weight on each unit, in the rows that the objective reads.

    Returns one non-negative value per unit; special units are 0 and, with `renormalise`, the others sum to 1.
    Uses the pooling site if the model has one, else its cross-attention, else its self-attention, and averages the rows
    that the objective reads (class token, last token, or all rows under mean pooling).
    layers: "last", "all" (mean over layers) or a layer number. heads: "mean", "max" or a head number.
    drop_sink: also set the first position to 0, where causal models park unneeded attention (Xiao et al. 2023).
    Extras, one value per example: `special_mass` (dropped weight on special tokens and learned sinks), `sink_mass`
    (weight on the first position), and the number of pooled `sites`, `heads` and `rows`.

    >>> from regard.testing.toy import ToyCase
    >>> attention(ToyCase(("wonderful film",)))[0].round(2).tolist()
    [0.0, 0.93, 0.07]
    """
    rows, masses, counts, sinks = [], [], [], []
    for i, units in enumerate(case.units):
        read_sites = chosen_sites(case, i, layers, "attention")
        read = [read_row(case, i, site, heads) for site in read_sites]
        sinks.append(float(np.mean([row[0] for row in read])))
        if drop_sink:
            read = [np.concatenate([[0.0], row[1:]]) for row in read]
        values, mass = on_units(read, units, renormalise=renormalise)
        rows.append(values)
        masses.append(mass)
        pooled = 1 if isinstance(heads, int) else read_sites[0].shape[1]
        counts.append((len(read_sites), pooled, len(rows_read(case, i, read_sites[0]))))
    sites, width, depth = np.array(counts, np.float64).reshape(-1, 3).T
    extras = {
        "special_mass": np.array(masses),
        "sink_mass": np.array(sinks),
        "sites": sites,
        "heads": width,
        "rows": depth,
    }
    return Relevance.of("attention", case.ids, rows, extras=extras)
