"""Kendall's tau between the relevances of two methods: over the examples of a run, or on one example."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from regard.audits.conclusions.run_facts import RunFacts
from regard.measures.agreement import kendall, null_sd, ragged
from regard.measures.bounded_mean import cluster_interval
from regard.measures.intervals import ClusterSums, Interval
from regard.records import Floats


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Mean tau of two methods, with the numbers of examples and clusters."""

    a: str
    b: str
    tau: Interval
    n: int
    clusters: int


@dataclass(frozen=True, slots=True)
class RankAgreement:
    """Agreement of every pair of methods; spread: mean standard deviation of tau under chance."""

    pairs: tuple[PairAgreement, ...]
    spread: float


def rank_agreement(facts: RunFacts) -> RankAgreement | None:
    """Compute the agreement; None with fewer than two methods."""
    if len(facts.methods) < 2:
        return None
    magnitudes = {name: _magnitudes(facts, name) for name in facts.methods}
    pairs = []
    for a, b in combinations(facts.methods, 2):
        both = [i for i in magnitudes[a] if i in magnitudes[b]]
        tau = ragged(kendall, [magnitudes[a][i] for i in both], [magnitudes[b][i] for i in both])
        sums = ClusterSums.of(tau, facts.clusters(both))
        pairs.append(PairAgreement(a, b, cluster_interval(sums, scale="none"), sums.n, len(sums.names)))
    lengths = [len(e["units"]["special"]) - sum(map(bool, e["units"]["special"])) for e in facts.examples]
    spread = float(np.nanmean([s for s in null_sd(lengths) if math.isfinite(s)] or [math.nan]))
    return RankAgreement(tuple(pairs), spread)


def _magnitudes(facts: RunFacts, method: str) -> dict[str, Floats]:
    """Example id -> the magnitudes of the units that may be removed."""
    relevance = facts.relevances[method]
    return {
        name: np.abs(values[~np.asarray(facts.by_id[name]["units"]["special"], np.bool_)])
        for name, values in zip(relevance.ids, relevance, strict=True)
        if name in facts.by_id
    }


def agreements(example: Mapping[str, Any], methods: Mapping[str, tuple[Floats, bool]]) -> list[dict[str, Any]]:
    """Kendall's tau of every pair of methods over the units of one input, with its spread under chance.

    If one of the two is unsigned, magnitudes are compared.
    """
    free = np.array([not special for special in example["units"]["special"]])
    count = int(free.sum())
    pairs = []
    for (a, (x, x_signed)), (b, (y, y_signed)) in combinations(methods.items(), 2):
        x, y = x[free], y[free]
        tau = float(kendall(x, y) if x_signed and y_signed else kendall(np.abs(x), np.abs(y)))
        spread = float(null_sd(count)) if count > 1 else None
        pairs.append({"a": a, "b": b, "tau": None if np.isnan(tau) else tau, "units": count, "null_sd": spread})
    return pairs
