"""Attention knock-out."""

from __future__ import annotations

from typing import Literal

import numpy as np

from regard.desk.questions import edited
from regard.errors import InputError, phrase
from regard.explainers._alignment import rows_read
from regard.explainers._site_choice import of_layers, sites_over_units
from regard.protocols import Case, SiteAttention
from regard.records import Edit, Relevance
from regard.registry import explainer


@explainer(
    needs=("attention",),
    signed=True,
    cite="Geva et al. 2023",
    formula="r_j = f(x) - f(x with scores to j of -infinity in the chosen sites)",
    cost="1 forward per unit",
    misleads="if a unit acts through its own position: a unit that the output reads directly (the last token of a "
    "causal model) gets 0; the other keys take over its weight",
)
def knock_out(
    case: Case,
    *,
    layers: str | int = "all",
    heads: str | int = "all",
    queries: Literal["all", "read"] = "all",
) -> Relevance:
    """Drop of the objective when no position may attend to the unit, in the selected layers.

    Returns one signed value per unit, f(x) - f(x with the edges to the unit cut); positive supports the
    prediction; special units 0. Edges are cut before the softmax, so that the other keys share the weight; a position
    may still attend to itself.
    layers: "all", "last" or a number. heads: "all" or a number. queries: from where edges are cut, "all" positions or
    only those that the objective "read"s (the paper's setting: the last position).
    For a model that only pools: leaving the unit out of the pooling, but not out of the encoder.

    >>> from regard.testing.toy import ToyCase
    >>> knock_out(ToyCase(("wonderful film",)))[0].tolist()  # its answer does not depend on attention
    [0.0, 0.0, 0.0]
    """
    if not isinstance(heads, int) and heads != "all":
        raise InputError("heads", expected=phrase("errors.explainers.all_or_number"), got=repr(heads))
    cuts = []
    for i, units in enumerate(case.units):
        sites = of_layers(sites_over_units(case, i, "knock_out"), layers)
        cuts.append(
            [
                [_cut(case, i, site=site, key=key, heads=heads, queries=queries) for site in sites for key in keys]
                for keys in units.free_keys
            ]
        )
    base, answers = case.base(), edited(case, cuts)
    rows = []
    for i, units in enumerate(case.units):
        values = np.zeros(len(units))
        values[units.free] = base.value[i] - answers.value[answers.rows(i)]
        rows.append(values)
    return Relevance.of("knock_out", case.ids, rows, signed=True)


def _cut(case: Case, i: int, site: SiteAttention, key: int, heads: str | int, queries: str) -> Edit:
    _, count, rows, keys = site.shape
    if isinstance(heads, int) and not 0 <= heads < count:
        raise InputError("heads", expected=phrase("errors.explainers.all_or", n=count - 1), got=repr(heads))
    among = range(rows) if queries == "all" else rows_read(case, i, site)
    own = key if site.site.kind in ("self", "causal", "windowed") and rows == keys else -1
    rows_cut = tuple(q for q in among if q != own and q < rows)
    return Edit(
        "knock_out", site.site.key, heads=(heads,) if isinstance(heads, int) else None, queries=rows_cut, keys=(key,)
    )
