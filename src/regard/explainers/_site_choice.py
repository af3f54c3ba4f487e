"""Selection of the attention sites that a method uses."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from regard.errors import InputError, Unsupported, listing, phrase
from regard.explainers._alignment import misfit, sites_of, unread
from regard.protocols import Case, SiteAttention

FAMILIES = (("pooling",), ("cross",), ("self", "causal", "windowed"))
"""Sites that represent the model: those nearest to its output."""


def chosen_sites(case: Case, i: int, layers: str | int, method: str) -> Sequence[SiteAttention]:
    """Return the sites nearest to the output whose keys are the units and whose rows the objective reads."""
    reasons = []
    for family in FAMILIES:
        fitting = []
        for site in sites_of(case, i, method):
            if site.site.kind not in family:
                continue
            reason = misfit(case.units[i], site) or unread(case, i, site)
            if reason:
                reasons.append(phrase("errors.common.because", place=site.site.key, reason=reason))
            else:
                fitting.append(site)
        if fitting:
            return of_layers(fitting, layers)
    reason_text = listing(reasons[:3])
    if len(reasons) > 3:
        reason_text = phrase("errors.explainers.and_more", listing=reason_text, n=len(reasons) - 3)
    raise Unsupported(method, expected=phrase("errors.explainers.site_whose_keys_units"), got=reason_text)


def of_layers(sites: Sequence[SiteAttention], layers: str | int) -> Sequence[SiteAttention]:
    """Return the sites of all layers, of the last layer, or of one layer."""
    layer_numbers = sorted({s.site.layer for s in sites})
    if layers == "all":
        return sites
    layer = layer_numbers[-1] if layers == "last" else layers
    matching = [s for s in sites if s.site.layer == layer]
    if not matching:
        raise InputError(
            phrase("errors.explainers.layers_layers", layers=repr(layers)),
            expected=phrase("errors.explainers.last_all_or_one", str=", ".join(map(str, layer_numbers))),
            got=repr(layers),
        )
    return matching


def sites_over_units(case: Case, i: int, method: str) -> Sequence[SiteAttention]:
    """Return every site whose keys are the units; this excludes the decoder's self-attention."""
    sites = list(sites_of(case, i, method))
    crosses = [s for s in sites if s.site.kind == "cross"]
    if crosses:
        before = itertools.takewhile(lambda s: s.site.kind != "cross", sites)
        decoders = {s.site.name.rpartition(".")[0] for s in crosses}  # their self-attention is among object queries
        below = [
            s
            for s in before
            if s.site.kind != "causal"
            and s.shape[3] == crosses[0].shape[3]
            and s.site.name.rpartition(".")[0] not in decoders
        ]
        sites = [*below, *crosses, *(s for s in sites if s.site.kind == "pooling")]
    fitting = [s for s in sites if not misfit(case.units[i], s)]
    if not fitting:
        reason = "; ".join(f"{s.site.key}: {misfit(case.units[i], s)}" for s in sites[:3])
        raise Unsupported(
            method,
            expected=phrase("errors.explainers.site_whose_keys_units"),
            got=reason or phrase("errors.common.none"),
        )
    return fitting
