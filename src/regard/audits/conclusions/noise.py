"""Predictions under noise: by severity, in the worst case of each example, and their calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from regard.audits.conclusions.finding_means import (
    NOT_MEASURED,
    Measured,
    NoiseLevels,
    alone,
    mean_of,
    noise_levels,
    of_mean,
    picked,
)
from regard.audits.conclusions.run_facts import RunFacts
from regard.measures.calibration import ece_by_chance, ece_interval
from regard.records import Floats, Score


@dataclass(frozen=True, slots=True)
class Calibration:
    """Calibration at one severity (0: clean).

    Calibration error, the error of a perfectly calibrated model, error in equal-size bins, negative log-likelihood,
    Brier score, confidence, and confidence of wrong predictions.
    """

    severity: int
    cells: tuple[Measured, ...]


@dataclass(frozen=True, slots=True)
class UnderNoise:
    """Predictions under noise. metric: "accuracy", or "flips" where there are no labels. clean: without noise.

    each_worst: every example under its worst noise, by severity; every: over all severities. flips: changed answers.
    """

    metric: Literal["accuracy", "flips"]
    clean: Measured
    levels: NoiseLevels
    each_worst: tuple[Measured, ...]
    every: Measured
    flips: NoiseLevels | None
    calibration: tuple[Calibration, ...]


@dataclass(frozen=True, slots=True)
class AnswersUnderNoise:
    """Effect of noise on a model whose output is a number or several labels (`kind`).

    flips: changed answers, by noise; flipped: at the highest severity, every: each example under its worst noise.
    spread: the unit in which the change is measured. error, errors: distance from the labelled number, clean and noisy.
    """

    kind: str
    change: NoiseLevels
    flips: NoiseLevels
    flipped: Measured
    every: Measured
    spread: float
    error: Measured
    errors: NoiseLevels | None


def under_noise(facts: RunFacts) -> UnderNoise | None:
    """Summarize predictions under noise; None without noise, and for models that do not predict classes."""
    answers = {name: float(right) for name, right in facts.right_answers.items()}
    clean = Score("accuracy", "model", tuple(answers), np.array([*answers.values()]), "higher") if answers else None
    metric: Literal["accuracy", "flips"] = "accuracy" if clean else "flips"
    scores = [s for s in picked(facts.findings, metric, attack=None, answer=None) if "noise" in s.where]
    if not scores:
        return None
    flips = [s for s in picked(facts.findings, "flips") if "noise" in s.where]
    worst = f"worst_case_{metric}"
    levels = noise_levels(facts, scores)
    return UnderNoise(
        metric=metric,
        clean=of_mean(facts, [clean or _unmoved(scores[0])]),
        levels=levels,
        each_worst=tuple(of_mean(facts, picked(facts.findings, worst, severity=g)) for g in levels.severities),
        every=of_mean(facts, picked(facts.findings, worst, severity="all")),
        flips=noise_levels(facts, flips) if flips else None,
        calibration=_calibration(facts, clean, levels) if clean else (),
    )


def _unmoved(score: Score) -> Score:
    return Score("flips", "model", score.ids, np.zeros(len(score.ids)), "lower")


def _calibration(facts: RunFacts, clean: Score, levels: NoiseLevels) -> tuple[Calibration, ...]:
    rows = (_calibrated(facts, clean, severity, levels.noises) for severity in (0, *levels.severities))
    return tuple(row for row in rows if row is not None)


def _calibrated(facts: RunFacts, clean: Score, severity: int, names: Sequence[str]) -> Calibration | None:
    kinds = names if severity else ["none"]

    def scores(metric: str, noise: str) -> list[Score]:
        return picked(facts.findings, metric, noise=noise, severity=severity)

    right = {noise: scores("accuracy", noise) if severity else [clean] for noise in kinds}
    pairs = [pair for noise in kinds for pair in zip(scores("confidence", noise), right[noise], strict=False)]
    ids, confidence, hits = _joined(pairs)
    if not ids:
        return None
    clusters, n, wrong = facts.clusters(ids), len(set(ids)), hits < 1
    error, even = (
        ece_interval(confidence, hits, clusters, adaptive=adaptive, seed=facts.seed, draws=200)
        for adaptive in (False, True)
    )
    wrong_ids = {name for name, yes in zip(ids, wrong, strict=True) if yes}
    chance = alone(float(ece_by_chance(confidence, seed=facts.seed, draws=100)))
    means = (
        of_mean(facts, [s for noise in kinds for s in scores(metric, noise)])
        for metric in ("nll", "brier", "confidence")
    )
    last = Measured(alone(float(confidence[wrong].mean())), len(wrong_ids)) if wrong_ids else NOT_MEASURED
    return Calibration(severity, (Measured(error, n), Measured(chance, n), Measured(even, n), *means, last))


def _joined(pairs: Sequence[tuple[Score, Score]]) -> tuple[list[str], Floats, Floats]:
    """Ids, confidence and correctness of the same examples under the same noise, where both are defined."""
    ids, confidence, hits = list[str](), list[float](), list[float]()
    for sure, right in pairs:
        answers = dict(zip(right.ids, right.values, strict=True))
        for name, value in zip(sure.ids, sure.values, strict=True):
            if not np.isnan(value) and not np.isnan(answers.get(name, np.nan)):
                ids.append(name)
                confidence.append(float(value))
                hits.append(float(answers[name]))
    return ids, np.array(confidence), np.array(hits)


def answers_under_noise(facts: RunFacts) -> AnswersUnderNoise | None:
    """Summarize numeric or multi-label outputs under noise; None for models that predict classes."""
    changes = [s for s in picked(facts.findings, "output_change", attack=None) if "answer" in s.where]
    if not changes:
        return None
    levels = noise_levels(facts, changes)
    flips, errors = picked(facts.findings, "flips"), picked(facts.findings, "absolute_error")
    hardest = [s for s in flips if s.where.get("severity") == levels.severities[-1]]
    shift, relative = (
        sum(float(np.nansum(s.values)) for s in picked(facts.findings, metric))
        for metric in ("output_shift", "output_change")
    )
    return AnswersUnderNoise(
        kind=str(changes[0].where["answer"]),
        change=levels,
        flips=noise_levels(facts, [s for s in flips if "answer" in s.where]),
        flipped=mean_of(facts, hardest),
        every=of_mean(facts, picked(facts.findings, "worst_case_flips", severity="all")),
        spread=shift / relative if relative > 0 else float("nan"),
        error=of_mean(facts, [s for s in errors if s.where["noise"] == "none"]),
        errors=noise_levels(facts, errors) if errors else None,
    )
