"""Explanations under noise and attack: drift of each method's relevance while the prediction stays the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.audits.conclusions.finding_means import (
    NOT_MEASURED,
    Measured,
    by_example,
    different,
    mean_of,
    noises,
    of_mean,
    picked,
    severities,
)
from regard.audits.conclusions.run_facts import RunFacts
from regard.measures.bounded_mean import cluster_interval
from regard.measures.intervals import ClusterSums
from regard.records import Score, Spec
from regard.registry import entry, names

MEASURES = ("explanation_rank", "explanation_top_k", "explanation_jsd", "explanation_centre", "explanation_unaligned")
AGAINST = ("explanation_per_change", "explanation_excess")


@dataclass(frozen=True, slots=True)
class MethodDrift:
    """Drift of one method.

    rank: rank correlation with itself. drift: every measure of `MEASURES`. against: drift compared with changes that
    should and should not move it (`AGAINST`, another seed), and comprehensiveness of the same examples, clean and under
    noise.
    """

    method: str
    baseline: bool
    rank: Measured
    drift: tuple[Measured, ...]
    against: tuple[Measured, ...]


@dataclass(frozen=True, slots=True)
class MostStable:
    """The most stable method and, where there are two, its lead over the second on the same examples."""

    method: str
    rank: Measured
    second: str = ""
    lead: Measured = NOT_MEASURED
    clusters: int = 0


@dataclass(frozen=True, slots=True)
class AttackedExplanations:
    """Rank correlation when an attack changed the input but not the prediction: cells[method][attack]."""

    methods: tuple[str, ...]
    baselines: tuple[bool, ...]
    attacks: tuple[str, ...]
    cells: tuple[tuple[Measured, ...], ...]
    aimed: bool


@dataclass(frozen=True, slots=True)
class ExplanationDrift:
    """Drift of all methods. unchanged: share of stable predictions. methods: empty without noise."""

    noises: tuple[str, ...]
    severities: tuple[int, ...]
    methods: tuple[MethodDrift, ...]
    unchanged: Measured
    stable: MostStable | None
    attacked: AttackedExplanations | None


def explanation_drift(facts: RunFacts) -> ExplanationDrift | None:
    """Summarize the drift of explanations; None for a run that changed no input."""
    every = picked(facts.findings, "explanation_rank")
    rank = [s for s in every if "attack" not in s.where and "noise" in s.where]
    methods = list(dict.fromkeys(s.method for s in rank or every))
    attacked = _attacked(facts, every, methods)
    if not rank and attacked is None:
        return None
    drifts = tuple(_drift(facts, method, [s for s in rank if s.method == method]) for method in methods if rank)
    return ExplanationDrift(
        noises=tuple(noises(rank)),
        severities=tuple(severities(rank)),
        methods=drifts,
        unchanged=of_mean(facts, picked(facts.findings, "prediction_kept")) if rank else NOT_MEASURED,
        stable=_stable(facts, rank, drifts),
        attacked=attacked,
    )


def _is_baseline(method: str) -> bool:
    name = Spec.parse("explainer", method).name
    return name in names("explainer") and entry("explainer", name).facts.get("role") == "baseline"


def _drift(facts: RunFacts, method: str, rank: Sequence[Score]) -> MethodDrift:
    seeded = of_mean(facts, picked(facts.findings, "explanation_seed_rank", method=method))
    return MethodDrift(
        method=method,
        baseline=_is_baseline(method),
        rank=mean_of(facts, rank),
        drift=_means(facts, method, MEASURES),
        against=(*_means(facts, method, AGAINST), seeded, *_faithful(facts, method)),
    )


def _means(facts: RunFacts, method: str, metrics: Sequence[str]) -> tuple[Measured, ...]:
    return tuple(mean_of(facts, picked(facts.findings, m, method=method, attack=None)) for m in metrics)


def _stable(facts: RunFacts, rank: Sequence[Score], drifts: Sequence[MethodDrift]) -> MostStable | None:
    real = {d.method: d.rank for d in drifts if not d.baseline}
    columns = {m: by_example([s for s in rank if s.method == m]) for m in real}
    means = {m: float(np.nanmean(v)) if np.isfinite(v).any() else -np.inf for m, (_, v) in columns.items()}
    order = sorted(real, key=lambda m: -means[m])
    if not order or not np.isfinite(means[order[0]]):
        return None
    if len(order) < 2:
        return MostStable(order[0], real[order[0]])
    first, second = order[:2]
    values, other_values = (dict(zip(*columns[m], strict=True)) for m in (first, second))
    ids = [name for name in values if name in other_values]
    lead = cluster_interval(
        ClusterSums.of([values[i] - other_values[i] for i in ids], facts.clusters(ids)), scale="signed"
    )
    both = [i for i in ids if np.isfinite(values[i] - other_values[i])]
    return MostStable(first, real[first], second, Measured(lead, len(both)), len(set(facts.clusters(both))))


def _attacked(facts: RunFacts, rank: Sequence[Score], methods: Sequence[str]) -> AttackedExplanations | None:
    scores = [s for s in rank if "attack" in s.where]
    attacks = different(scores, "attack")
    if not attacks:
        return None
    return AttackedExplanations(
        methods=tuple(methods),
        baselines=tuple(map(_is_baseline, methods)),
        attacks=tuple(map(str, attacks)),
        cells=tuple(
            tuple(mean_of(facts, [s for s in scores if s.method == m and s.where["attack"] == a]) for a in attacks)
            for m in methods
        ),
        aimed=bool(picked(facts.findings, "explanation_attack_success")),
    )


def _faithful(facts: RunFacts, method: str) -> tuple[Measured, Measured]:
    """Comprehensiveness of the same examples, clean and under noise, by the same operator."""
    noisy = [s for s in picked(facts.findings, "comprehensiveness", method=method) if "noise" in s.where]
    if not noisy:
        return NOT_MEASURED, NOT_MEASURED
    operator = noisy[0].where.get("operator")
    for score in facts.scores:
        if (score.metric, score.method, score.where.get("operator")) == ("comprehensiveness", method, operator):
            both = _defined([score]) & _defined(noisy)
            return mean_of(facts, [_only(score, both)]), mean_of(facts, [_only(s, both) for s in noisy])
    return NOT_MEASURED, mean_of(facts, noisy)


def _defined(scores: Sequence[Score]) -> set[str]:
    return {name for s in scores for name, value in zip(s.ids, s.values, strict=True) if not np.isnan(value)}


def _only(score: Score, ids: set[str]) -> Score:
    inside = [i for i, name in enumerate(score.ids) if name in ids]
    return Score(score.metric, score.method, tuple(score.ids[i] for i in inside), score.values[inside], score.better)
