"""Soft erasure: units are removed at random with chances that follow their relevance."""

from __future__ import annotations

import numpy as np

from regard.errors import InputError, phrase
from regard.measures.source_metrics import keep_chances
from regard.protocols import Case
from regard.records import Floats, Relevance

DRAWS = 10


def normalised_drops(case: Case, relevance: Relevance, draws: int, operator: str, *, keep: bool) -> Floats:
    """Return (examples, draws) drops of the probability, as shares of the drop when every unit is removed.

    With `keep` a unit stays with the chance of its relevance over the largest one (negative relevance: never);
    otherwise it is removed with that chance. The random numbers are the same for every method. Drops count from 0, and
    shares are at most 1; NaN where removing everything lowers nothing, or without removable units.
    """
    if draws < 1:
        raise InputError("draws", expected=phrase("errors.common.at_least"), got=str(draws))
    drops = []
    for i, units in enumerate(case.units):
        marked = np.zeros((draws, len(units)), np.bool_)
        if units.free.any():
            chances = keep_chances(np.asarray(relevance[i][units.free], np.float64))
            marked[:, units.free] = case.rng(i, "soft erasure", draws).random((draws, len(chances))) < chances
        everything = units.free[None]
        erased = np.logical_and(units.free, ~marked) if keep else marked
        drops.append(np.concatenate([everything, erased]) if units.free.any() else marked[:0])
    base, answers = case.base(), case.removed(drops, operator)
    shares = np.full((len(case.ids), draws), np.nan)
    for i, drop in enumerate(drops):
        if len(drop):
            fall = np.maximum(0.0, base.probability[i] - answers.probability[answers.rows(i)])
            if fall[0] > 0:
                shares[i] = np.minimum(1.0, fall[1:] / fall[0])
    return shares
