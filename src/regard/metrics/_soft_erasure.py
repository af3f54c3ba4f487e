"""Soft erasure: random removal of embedding entries, or of whole units, with chances that follow their relevance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.desk.questions import input_function
from regard.errors import InputError, Unsupported, phrase
from regard.measures.source_metrics import keep_chances
from regard.metrics._removal import removal_case
from regard.protocols import Case
from regard.records import Bools, Floats, Relevance, Score

DRAWS = 10
EMBEDDING = "embedding"
"""Operator that sets single entries of the continuous inputs to 0."""
SAME = 1e-3
"""Maximum deviation of the probability from the one that the objective gives."""


def normalised_drops(case: Case, relevance: Relevance, draws: int, operator: str, *, keep: bool) -> tuple[Floats, str]:
    """Return (examples, draws) drops of the probability, as shares of the drop when everything is removed, and the way.

    With `keep` a part stays with the chance of its relevance over the largest one (negative relevance: never);
    otherwise it is removed with that chance. Parts are the entries of the embeddings for the operator `embedding`,
    where the model has continuous inputs whose objective gives its probability; otherwise whole units, by the operator
    that is returned. The random numbers are the same for every method. Drops count from 0, and shares are at most 1;
    NaN where removing everything lowers nothing, or without removable units.
    """
    if draws < 1:
        raise InputError("draws", expected=phrase("errors.common.at_least"), got=str(draws))
    if operator == EMBEDDING:
        try:
            return _shares(case, [_entries_removed(case, i, relevance[i], draws, keep) for i in range(len(case.ids))])
        except Unsupported:
            operator = case.operators[0]
    answering, way = removal_case(case, operator)
    drops = [_units_removed(answering, i, relevance[i], draws, keep) for i in range(len(case.ids))]
    answers = answering.removed(drops, way)
    rows = [answers.probability[answers.rows(i)] for i in range(len(case.ids))]
    return _shares(answering, rows)[0], operator


def soft_score(metric: str, relevance: Relevance, shares: Floats, operator: str, draws: int) -> Score:
    """Return the score of (examples, draws) shares of the prediction."""
    return relevance.score(
        metric,
        shares.mean(-1),
        better="higher",
        where={"operator": operator, "draws": draws},
        curves={"share": shares},
        grid=tuple(float(draw) for draw in range(draws)),
    )


def _shares(case: Case, rows: Sequence[Floats]) -> tuple[Floats, str]:
    """Return shares of the drop. rows: per example the probability without everything, then of each draw."""
    base = case.base()
    draws = max((len(row) - 1 for row in rows), default=0)
    shares = np.full((len(rows), max(draws, 1)), np.nan)
    for i, row in enumerate(rows):
        if len(row):
            fall = np.maximum(0.0, base.probability[i] - row)
            if fall[0] > 0:
                shares[i] = np.minimum(1.0, fall[1:] / fall[0])
    return shares, EMBEDDING


def _units_removed(case: Case, i: int, values: Floats, draws: int, keep: bool) -> Bools:
    """Return (1 + draws, units): everything, then the draws; no row without removable units."""
    units = case.units[i]
    marked = np.zeros((draws, len(units)), np.bool_)
    if not units.free.any():
        return marked[:0]
    chances = keep_chances(np.asarray(values[units.free], np.float64))
    marked[:, units.free] = case.rng(i, "soft erasure", draws).random((draws, len(chances))) < chances
    erased = np.logical_and(units.free, ~marked) if keep else marked
    return np.concatenate([units.free[None], erased])


def _entries_removed(case: Case, i: int, values: Floats, draws: int, keep: bool) -> Floats:
    """Return (1 + draws,) probabilities with entries of the continuous inputs set to 0: all, then those of a draw."""
    import torch

    units = case.units[i]
    if not units.free.any():
        return np.zeros(0)
    function = input_function(case, i)
    x, owner = function.x, np.asarray(function.owner.cpu().numpy())[0]
    chances = np.zeros(len(units) + 1)  # the last one: entries of no unit
    chances[:-1][units.free] = keep_chances(np.asarray(values[units.free], np.float64))
    free = np.append(units.free, False)[owner]
    marked = np.zeros((draws, *owner.shape), np.bool_)
    marked[:, free] = case.rng(i, "soft erasure", draws).random((draws, int(free.sum()))) < chances[owner][free]
    erased = np.concatenate([free[None], np.logical_and(free, ~marked) if keep else marked])
    with torch.no_grad():
        kept = torch.from_numpy(~erased).to(x.device)
        values_there = function(torch.cat([x, x * kept.to(x.dtype)])).double().cpu().numpy()
    probabilities = 1 / (1 + np.exp(-values_there))
    if abs(probabilities[0] - case.base().probability[i]) > SAME:
        raise Unsupported(
            phrase("errors.metrics.soft_erasure"),
            expected=phrase("errors.metrics.log_odds_objective"),
            got=phrase("errors.metrics.another_objective"),
        )
    return np.asarray(probabilities[1:])
