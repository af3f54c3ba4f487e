"""Attacks on predictions: success, cost, success over the budget, and the sanity checks of Carlini et al. (2019)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from regard.audits.conclusions.bands import Band
from regard.audits.conclusions.finding_means import Measured, of_mean, picked
from regard.audits.conclusions.run_facts import RunFacts
from regard.measures.count_tests import ALPHA, CountTest, Outcome, joint, no_weaker, stronger
from regard.measures.intervals import wilson
from regard.records import Score, Spec

CheckName = Literal["noise", "white", "ball"]
Cluster = Callable[[str], str]


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
class Check:
    """A sanity check of all attacks of a run. n: examples of its smallest comparison.

    needed: examples that would probably decide an open check, if any number would.
    """

    name: CheckName
    outcome: Outcome
    n: int
    needed: int | None


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A sanity check that an attack was shown to fail, beside another attack; rates are shares of flips.

    small_ball: no stronger than noise, but stronger in a larger ball (`larger`, whose rate is `rate`). n: examples that
    both attacked, one per cluster.
    """

    why: Literal["no_stronger", "small_ball", "white_weaker", "larger_weaker"]
    attack: str
    other: str
    rate: float
    other_rate: float
    n: int
    larger: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two attacks on the same examples, under one check."""

    check: CheckName
    attack: Score
    other: Score
    test: CountTest


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
        suspicions=suspicions(scores, facts.cluster),
        checks=checks(scores, facts.cluster),
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


def comparisons(scores: Sequence[Score], cluster: Cluster = str) -> list[Comparison]:
    """Test every pair of attacks that a check compares; the level of a check is shared by its pairs.

    The checks: stronger than noise of the same size, white box no weaker than black box under the same constraints, and
    no weaker in a larger ball.
    """
    defined = [s for s in scores if np.isfinite(s.values).any()]
    real = [s for s in defined if not _is_baseline(s)]
    pairs: list[tuple[CheckName, Score, Score]] = []
    for score in real:
        pairs += [("noise", score, s) for s in defined if _is_baseline(s)]
        for other in real:
            white = (score.where.get("access"), other.where.get("access")) == ("white box", "black box")
            if white and score.where.get("constraints") == other.where.get("constraints"):
                pairs.append(("white", score, other))
            if _larger_ball(score, other):
                pairs.append(("ball", score, other))
    names = [name for name, _, _ in pairs]
    return [
        Comparison(name, one, other, _test(name, one, other, alpha=ALPHA / names.count(name), cluster=cluster))
        for name, one, other in pairs
    ]


def suspicions(scores: Sequence[Score], cluster: Cluster = str) -> tuple[Suspicion, ...]:
    """Return every comparison that shows an attack to fail a check."""
    every = comparisons(scores, cluster)
    failures = [one for one in every if one.test.outcome == "failed"]
    return tuple(
        _no_stronger(one, every)
        if one.check == "noise"
        else _suspicion("white_weaker" if one.check == "white" else "larger_weaker", one)
        for one in failures
    )


def checks(scores: Sequence[Score], cluster: Cluster = str) -> tuple[Check, ...]:
    """Checks that the attacks of a run allow: passed or failed only if a test shows it."""
    tests: dict[CheckName, list[CountTest]] = {}
    for one in comparisons(scores, cluster):
        tests.setdefault(one.check, []).append(one.test)
    results = {name: joint(tests[name]) for name in ("noise", "white", "ball") if name in tests}
    return tuple(Check(name, test.outcome, test.n, test.needed) for name, test in results.items())


def _is_baseline(score: Score) -> bool:
    return score.where.get("role") == "baseline"


def _test(name: CheckName, one: Score, other: Score, *, alpha: float, cluster: Cluster) -> CountTest:
    """Test a pair on the examples that both attacked, one per cluster: the first."""
    other_values = dict(zip(other.ids, other.values, strict=True))
    pairs: dict[str, tuple[bool, bool]] = {}
    for example, value in zip(one.ids, one.values, strict=True):
        if np.isfinite(value) and np.isfinite(other_values.get(example, np.nan)):
            pairs.setdefault(cluster(example), (bool(value), bool(other_values[example])))
    only_first, only_second = (sum(a > b for a, b in pairs.values()), sum(a < b for a, b in pairs.values()))
    test = stronger if name == "noise" else no_weaker
    return test(only_first, only_second, len(pairs), alpha=alpha)


def _no_stronger(failure: Comparison, every: Sequence[Comparison]) -> Suspicion:
    """Distinguish a ball that is too small from an attack that does not work."""
    score, floor = failure.attack, failure.other
    larger = [
        one.attack
        for one in every
        if one.check == "noise"
        and one.other is floor
        and one.test.outcome == "passed"
        and _larger_ball(one.attack, score)
    ]
    if not larger:
        return _suspicion("no_stronger", failure)
    best = max(larger, key=_rate)
    attack, other = str(score.where["attack"]), str(floor.where["attack"])
    name = str(best.where["attack"])
    return Suspicion("small_ball", attack, other, _rate(best), _rate(floor), n=failure.test.n, larger=name)


def _suspicion(why: Literal["no_stronger", "white_weaker", "larger_weaker"], one: Comparison) -> Suspicion:
    attack, other = str(one.attack.where["attack"]), str(one.other.where["attack"])
    return Suspicion(why, attack, other, _rate(one.attack), _rate(one.other), n=one.test.n)


def _larger_ball(larger: Score, smaller: Score) -> bool:
    """Return whether one record is the same attack in a larger ball."""
    one, other = (Spec.parse("attack", str(s.where["attack"])) for s in (larger, smaller))
    sizes = [float(str(s.params.get("eps", 0))) for s in (one, other)]
    return one.name == other.name and sizes[0] > sizes[1]


def _rate(score: Score) -> float:
    return float(np.nanmean(score.values))
