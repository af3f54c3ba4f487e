"""The units that a rationale marks, and those that a relevance puts first."""

from __future__ import annotations

import numpy as np

from regard.measures.plausibility import inside
from regard.measures.ranking import top_k
from regard.protocols import Case
from regard.records import Bools, Floats, Relevance


def gold(case: Case) -> list[Bools | None]:
    """For every example, which of its free units its rationale marks; None where there is none or it marks nothing.

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
    """Signed values of the free units: what speaks for the prediction comes first."""
    return [row[units.free] for row, units in zip(relevance, case.units, strict=True)]


def chosen(values: Floats, mask: Bools, k: int | None) -> Bools:
    """The k units with the highest values; as many as the rationale has where k is None."""
    return top_k(values, int(mask.sum()) if k is None else k)
