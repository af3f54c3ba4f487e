"""Units that a rationale marks, and units that a relevance ranks first."""

from __future__ import annotations

import numpy as np

from regard.measures.plausibility import inside
from regard.measures.ranking import top_k
from regard.protocols import Case
from regard.records import Bools, Floats, Relevance


def gold(case: Case) -> list[Bools | None]:
    """Return per example which free units the rationale marks; None without a rationale or marked unit.

    The rationale of a pair of texts is about the first one.
    """
    masks: list[Bools | None] = []
    for example, units in zip(case.examples, case.units, strict=True):
        mask = np.zeros(0, np.bool_)
        if example.rationale is not None:
            mask = (inside(units.places, example.rationale) & (units.part == 0))[units.free]
        masks.append(mask if mask.any() else None)
    return masks


def free_values(case: Case, relevance: Relevance) -> list[Floats]:
    """Return signed values of the free units, so that units supporting the prediction rank first."""
    return [row[units.free] for row, units in zip(relevance, case.units, strict=True)]


def chosen(values: Floats, mask: Bools, k: int | None) -> Bools:
    """Select the k units with the highest values; by default as many as the rationale marks."""
    return top_k(values, int(mask.sum()) if k is None else k)
