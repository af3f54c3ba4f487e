"""Product of per-layer contribution matrices, shared by globenc, alti and value_zeroing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from regard.explainers._alignment import on_units
from regard.explainers._chain import chain_of
from regard.measures.contributions import shares
from regard.measures.rollout import rollout as product
from regard.protocols import Case
from regard.records import Floats, Relevance

Look = Callable[[Case, int, Sequence[str]], Sequence[Any]]
"""(case, example, keys of sites) -> a record about each site, with an `error`."""


def through_layers(
    case: Case, method: str, look: Look, matrix: Callable[[Any], Floats], *, error: str, renormalise: bool
) -> Relevance:
    """Multiply the row-normalized (query, key) matrices of all layers into a relevance.

    error: name of the extra that holds the largest error of each example.
    """
    rows, masses, errors, counts = [], [], [], []
    for i, units in enumerate(case.units):
        chain = chain_of(case, i, method)
        by_key = dict(zip(chain.keys, look(case, i, chain.keys), strict=True))
        entrance = chain.entrance(lambda site, seen=by_key: matrix(seen[site.site.key]))  # type: ignore[misc]
        layers = [shares(matrix(by_key[site.site.key])) for site in chain.layers]
        row = entrance @ product(layers, residual=0.0) if layers else entrance
        values, mass = on_units([row], units, renormalise=renormalise)
        rows.append(values)
        masses.append(mass)
        errors.append(max(one.error for one in by_key.values()))
        counts.append(float(len(layers)))
    extras = {error: np.array(errors), "special_mass": np.array(masses), "sites": np.array(counts)}
    return Relevance.of(method, case.ids, rows, extras=extras)
