"""Attacks on predictions: success, cost, success over the budget, and the sanity checks of Carlini et al. (2019)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from regard.audits.conclusions.bands import Band
from regard.audits.conclusions.finding_means import Measured, of_mean, picked
from regard.audits.conclusions.run_facts import RunFacts
from regard.measures.intervals import wilson
from regard.records import Score, Spec

Check = Literal["noise", "white", "ball"]


@dataclass(frozen=True, slots=True)
class AttackRow:
    """Result of one attack. queries: mean, median and 95 % quantile over `queried` examples; None if none counted."""

    success: Measured
    accuracy: Measured
    perturbed: Measured
    similarity: Measured
    queries: tuple[float, float, float] | None
    queried: int


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A sanity check that an attack fails, beside another attack; rates are shares of flipped predictions.

    small_ball: no stronger than noise, but stronger in a larger ball (`larger`, whose rate is `rate`).
    """

    why: Literal["no_stronger", "small_ball", "white_weaker", "larger_weaker"]
    attack: str
    other: str
    rate: float
    other_rate: float
    larger: str = ""


@dataclass(frozen=True, slots=True)
class BudgetCurve:
    """Success of one attack by queries; `place`: its number among the attacks that have a curve."""

    band: Band
    baseline: bool
    place: int


@dataclass(frozen=True, slots=True)
class AttackResults:
    """All attacks. rows: one per finding of "attack_success", in order. worst: accuracy under all of them together."""

    rows: tuple[AttackRow, ...]
    worst: Measured | None
    suspicions: tuple[Suspicion, ...]
    checks: tuple[Check, ...]
    grid: tuple[float, ...]
    curves: tuple[BudgetCurve, ...]


def attack_results(facts: RunFacts) -> AttackResults | None:
    """Summarize the attacks of a run; None for a run without attacks."""
    scores = picked(facts.findings, "attack_success")
    if not scores:
        return None
    worst = picked(facts.findings, "worst_case_attack_accuracy")
    grid, curves = _curves(scores)
    return AttackResults(
        rows=tuple(_row(facts, score) for score in scores),
        worst=of_mean(facts, worst) if worst else None,
        suspicions=suspicions(scores),
        checks=checks(scores),
        grid=grid,
        curves=curves,
    )


def _row(facts: RunFacts, score: Score) -> AttackRow:
    accuracy, perturbed, similarity, queries = (
        picked(facts.findings, metric, attack=score.where["attack"])
        for metric in ("accuracy", "attack_perturbed", "attack_similarity", "attack_queries")
    )
    values = np.concatenate([s.values for s in queries]) if queries else np.zeros(0)
    values = values[np.isfinite(values)]
    spread = (float(values.mean()), float(np.median(values)), float(np.quantile(values, 0.95))) if len(values) else None
    return AttackRow(
        success=of_mean(facts, [score]),
        accuracy=of_mean(facts, accuracy),
        perturbed=of_mean(facts, perturbed),
        similarity=of_mean(facts, similarity),
        queries=spread,
        queried=len(values),
    )


def _curves(scores: Sequence[Score]) -> tuple[tuple[float, ...], tuple[BudgetCurve, ...]]:
    able = [s for s in scores if "success" in s.curves and len(s.grid) > 1]
    curves = []
    for i, score in enumerate(able):
        rows = np.asarray(score.curves["success"], np.float64)
        rows = rows[~np.isnan(rows).any(-1)]
        if score.grid != able[0].grid or not len(rows):
            continue
        low, high = wilson(rows.sum(0), np.full(len(score.grid), len(rows)))
        count = (len(rows),) * len(score.grid)
        band = Band(
            name=str(score.where["attack"]),
            estimate=tuple(rows.mean(0).tolist()),
            low=tuple(low.tolist()),
            high=tuple(high.tolist()),
            n=count,
            clusters=count,
        )
        curves.append(BudgetCurve(band, _is_baseline(score), i))
    return tuple(map(float, able[0].grid)) if able else (), tuple(curves)


# ---------------------------------------------------------------------- sanity


def suspicions(scores: Sequence[Score]) -> tuple[Suspicion, ...]:
    """Return every failed check.

    The checks: stronger than noise of the same size, white box at least as strong as black box under the same
    constraints, and stronger in a larger ball.
    """
    defined = [s for s in scores if np.isfinite(s.values).any()]
    real = [s for s in defined if not _is_baseline(s)]
    failures = []
    for score in real:
        failures += [_no_stronger(score, s, real) for s in defined if _is_baseline(s) and _rate(score) <= _rate(s)]
        for other in real:
            white = (score.where.get("access"), other.where.get("access")) == ("white box", "black box")
            same = score.where.get("constraints") == other.where.get("constraints")
            if white and same and _clearly_less(score, other):
                failures.append(_suspicion("white_weaker", score, other))
            if _larger_ball(other, score) and _clearly_less(other, score):
                failures.append(_suspicion("larger_weaker", other, score))
    return tuple(failures)


def checks(scores: Sequence[Score]) -> tuple[Check, ...]:
    """Checks that the attacks of a run allow."""
    defined = [s for s in scores if np.isfinite(s.values).any()]
    real = [s for s in defined if not _is_baseline(s)]
    access = {(s.where.get("access"), str(s.where.get("constraints"))) for s in real}
    allowed: dict[Check, bool] = {
        "noise": len(real) < len(defined) and bool(real),
        "white": any(("black box", limits) in access for kind, limits in access if kind == "white box"),
        "ball": any(_larger_ball(a, b) for a in real for b in real),
    }
    return tuple(name for name, possible in allowed.items() if possible)


def _is_baseline(score: Score) -> bool:
    return score.where.get("role") == "baseline"


def _no_stronger(score: Score, floor: Score, real: Sequence[Score]) -> Suspicion:
    """Distinguish a ball that is too small from an attack that does not work."""
    larger = [s for s in real if _larger_ball(s, score) and _rate(s) > _rate(floor)]
    if not larger:
        return _suspicion("no_stronger", score, floor)
    best = max(larger, key=_rate)
    attack, other = str(score.where["attack"]), str(floor.where["attack"])
    return Suspicion("small_ball", attack, other, _rate(best), _rate(floor), larger=str(best.where["attack"]))


def _suspicion(why: Literal["no_stronger", "white_weaker", "larger_weaker"], score: Score, other: Score) -> Suspicion:
    return Suspicion(why, str(score.where["attack"]), str(other.where["attack"]), _rate(score), _rate(other))


def _larger_ball(larger: Score, smaller: Score) -> bool:
    """Return whether one record is the same attack in a larger ball."""
    one, other = (Spec.parse("attack", str(s.where["attack"])) for s in (larger, smaller))
    sizes = [float(str(s.params.get("eps", 0))) for s in (one, other)]
    return one.name == other.name and sizes[0] > sizes[1]


def _clearly_less(one: Score, other: Score) -> bool:
    """Return whether one attack flips fewer of the same examples, by more than two paired standard errors."""
    other_values = dict(zip(other.ids, other.values, strict=True))
    apart = np.array([other_values.get(name, np.nan) - value for name, value in zip(one.ids, one.values, strict=True)])
    apart = apart[np.isfinite(apart)]
    return len(apart) > 1 and bool(apart.mean() > 2 * apart.std(ddof=1) / np.sqrt(len(apart)))


def _rate(score: Score) -> float:
    return float(np.nanmean(score.values))
