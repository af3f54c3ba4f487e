"""Rank agreement with another method."""

from __future__ import annotations

from functools import cache, partial
from typing import Literal

import numpy as np

from regard.measures import agreement as measures
from regard.protocols import Case
from regard.records import Floats, Json, Relevance, Score, Spec
from regard.registry import EVERY, THOROUGH, InProfile, metric

Measure = Literal["kendall", "spearman", "weighted_kendall", "top_k", "rbo"]


@metric(
    better="higher",
    family="agreement",
    cite="Jain & Wallace 2019; null spread: Kendall 1938",
    formula="tau-b(|relevance|, |other|) over the units that may be removed",
    baseline="random",
    ceiling="input_x_gradient",
    cost="that of the other method",
    misleads="short texts agree by chance (compare with null_sd), long tails of near-zero units mask agreement at "
    "the top, and two methods may agree and both be wrong",
    profile=(
        InProfile(EVERY, 3),
        InProfile(THOROUGH, 20, "measure=spearman"),
        InProfile(THOROUGH, 21, "measure=weighted_kendall"),
        InProfile(THOROUGH, 22, "measure=top_k"),
        InProfile(THOROUGH, 23, "measure=rbo"),
    ),
)
def agreement(
    case: Case,
    relevance: Relevance,
    *,
    other: str = "leave_one_out",
    measure: Measure = "kendall",
    sign: Literal["ignore", "keep"] = "ignore",
    k: int = 5,
) -> Score:
    """Rank agreement between this method and another.

    Returns one value per example in -1..1 (top_k and rbo: 0..1); NaN if either relevance is constant, has fewer than
    two units, or for a method compared with itself. Compares magnitudes by default, because attention has no sign;
    sign="keep" compares signed values. k: number of top units, for top_k.
    Columns (one value per example, in `curves`): `null_sd`, the spread of this measure between unrelated rankings of
    that length, and `length`; for measures that are not 0 by chance also `chance`, their mean.
    Compare the value with the floor (random) and the ceiling (input_x_gradient with leave_one_out: two methods that
    both probe the model's own function).

    >>> from regard.testing.toy import ToyCase
    >>> case = ToyCase(("wonderful film with a dull end",))
    >>> agreement(case, case.relevance("attention")).values.round(3).tolist()
    [1.0]
    """
    other_relevance = case.relevance(other)
    free = [units.free for units in case.units]
    strip = np.abs if sign == "ignore" else np.asarray
    xs = [strip(row[f]) for row, f in zip(relevance, free, strict=True)]
    ys = [strip(row[f]) for row, f in zip(other_relevance, free, strict=True)]
    values = measures.ragged(_formula(measure, k), xs, ys)
    if Spec.parse("explainer", relevance.method) == Spec.parse("explainer", other):
        values = np.full(len(xs), np.nan)  # agreeing with oneself is no evidence
    where: dict[str, Json] = {"other": other, "measure": measure}
    if measure == "top_k":
        where["k"] = k
    if sign == "keep":
        where["sign"] = sign
    columns = _null(measure, k, np.array([len(x) for x in xs], np.int64))
    return relevance.score("agreement", values, better="higher", where=where, curves=columns)


def _formula(measure: Measure, k: int) -> measures.Measure:
    formulas: dict[str, measures.Measure] = {
        "kendall": measures.kendall,
        "spearman": measures.spearman,
        "weighted_kendall": measures.weighted_kendall,
        "top_k": partial(measures.top_k_overlap, k=k),
        "rbo": measures.rbo,
    }
    return formulas[measure]


@cache
def _spread(measure: Measure, k: int, n: int) -> tuple[float, float]:
    """Return mean and spread between unrelated rankings; cached, since shards and methods share it."""
    return measures.null_spread(_formula(measure, k), n)


def _null(measure: Measure, k: int, lengths: np.ndarray) -> dict[str, Floats]:
    """Return chance levels for texts of these lengths: by formula for Kendall, by permutation otherwise."""
    columns = {"length": lengths.astype(np.float64)}
    if measure == "kendall":
        columns["null_sd"] = measures.null_sd(lengths)
    else:
        table = {n: _spread(measure, k, n) for n in np.unique(lengths).tolist() if n >= 2}
        known = np.array([table.get(n, (np.nan, np.nan)) for n in lengths.tolist()], np.float64).reshape(-1, 2)
        columns["null_sd"] = known[:, 1]
        if measure in ("top_k", "rbo"):
            columns["chance"] = known[:, 0]
    return {name: column[:, None] for name, column in columns.items()}
