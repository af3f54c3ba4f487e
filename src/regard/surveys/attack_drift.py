"""Drift of an explanation (attention, by default) while an attack changes the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from regard.attacks._drift import by_place, drift
from regard.desk.case import DeskCase
from regard.desk.changes import Replaced
from regard.records import Attacked, Floats

FIRST = 3
"""Number of most relevant places to compare."""


def watched(case: DeskCase, found: Sequence[Attacked], explainer: str) -> list[Attacked]:
    """The same records with extras `EXPLAINER top_k_overlap`, `... jensen_shannon`, ... for every changed input.

    Words are compared one by one; a deleted word has no relevance afterwards. Texts with additions are compared on
    their own words, without the added ones.
    """
    successes = [i for i, one in enumerate(found) if one.example is not None and one.status == "success"]
    if not successes:
        return list(found)
    examples = [example for i in successes if (example := found[i].example) is not None]
    before, after = case.subset(successes), case.subset(successes).variant(Replaced(examples))
    one, other = before.relevance(explainer), after.relevance(explainer)
    out = list(found)
    for n, i in enumerate(successes):
        old, new = by_place(before, n, one[n]), by_place(after, n, other[n])
        placed = _aligned(new, len(old), found[i].origin)
        if placed is None:
            continue
        drifts = drift(old, placed, FIRST)
        out[i] = replace(found[i], extras={**found[i].extras, **{f"{explainer} {k}": v for k, v in drifts.items()}})
    return out


def _aligned(new: Floats, places: int, origin: tuple[int, ...] | None) -> Floats | None:
    """Map the new relevance to the places of the original; None if places cannot be matched."""
    if origin is None or len(origin) != len(new):
        if len(new) < places:
            return None
        own = new[len(new) - places :]  # what was added stands in front
        return own / own.sum() if own.sum() > 0 else None
    back = np.zeros(places)
    for value, at in zip(new, origin, strict=True):
        back[at] += value
    return back
