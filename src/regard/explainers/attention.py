"""Raw attention weights as relevance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.errors import InputError, Unsupported
from regard.explainers._alignment import misfit, on_units, read_row, rows_read, sites_of, unread
from regard.protocols import Case, SiteAttention
from regard.records import Relevance
from regard.registry import explainer

FAMILIES = (("pooling",), ("cross",), ("self", "causal", "windowed"))
"""Which sites speak for the model: the ones nearest to its answer."""


@explainer(
    needs=("attention",),
    cite="Bahdanau et al. 2015; Jain & Wallace 2019",
    cost="1 forward",
    misleads="in deep Transformers, where special tokens draw most of the mass and values are ignored",
)
def attention(
    case: Case, *, layers: str | int = "last", heads: str | int = "mean", renormalise: bool = True
) -> Relevance:
    """The attention weight that the model's reading rows put on each unit.

    Comes out: one non-negative value per unit; special units are 0 and, with `renormalise`, the others sum to 1.
    What is read: the pooling site where the model has one, else its cross-attention, else its self-attention, in the
    rows that the objective reads (class token, last token, all of a mean pooling); their mean.
    layers: "last", "all" (mean over layers) or a layer number. heads: "mean", "max" or a head number.
    Extras, one value per example: `special_mass` (weight that lay on special tokens and sinks before it was
    dropped), and how many `sites`, `heads` and `rows` were pooled.

    >>> from regard.testing.toy import ToyCase
    >>> attention(ToyCase(("wonderful film",)))[0].round(2).tolist()
    [0.0, 0.93, 0.07]
    """
    rows, masses, counts = [], [], []
    for i, units in enumerate(case.units):
        chosen = _chosen(case, i, layers)
        read = [read_row(case, i, site, heads) for site in chosen]
        values, mass = on_units(read, units, renormalise=renormalise)
        rows.append(values)
        masses.append(mass)
        pooled = 1 if isinstance(heads, int) else chosen[0].shape[1]
        counts.append((len(chosen), pooled, len(rows_read(case, i, chosen[0]))))
    sites, width, depth = np.array(counts, np.float64).reshape(-1, 3).T
    extras = {"special_mass": np.array(masses), "sites": sites, "heads": width, "rows": depth}
    return Relevance.of("attention", case.ids, rows, extras=extras)


def _chosen(case: Case, i: int, layers: str | int) -> Sequence[SiteAttention]:
    reasons = []
    for family in FAMILIES:
        fitting = []
        for site in sites_of(case, i, "attention"):
            if site.site.kind not in family:
                continue
            reason = misfit(case.units[i], site) or unread(case, i, site)
            if reason:
                reasons.append(f"{site.site.key}: {reason}")
            else:
                fitting.append(site)
        if fitting:
            return _layers(fitting, layers)
    shown = "; ".join(reasons[:3]) + (f"; and {len(reasons) - 3} more" if len(reasons) > 3 else "")
    raise Unsupported("attention", expected="a site whose keys are the units", got=shown)


def _layers(sites: Sequence[SiteAttention], layers: str | int) -> Sequence[SiteAttention]:
    known = sorted({s.site.layer for s in sites})
    if layers == "all":
        return sites
    wanted = known[-1] if layers == "last" else layers
    chosen = [s for s in sites if s.site.layer == wanted]
    if not chosen:
        raise InputError(
            f"layers {layers!r}", expected=f'"last", "all" or one of {", ".join(map(str, known))}', got=repr(layers)
        )
    return chosen
