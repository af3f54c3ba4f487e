"""Stability of the order of the methods between removal operators."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from regard.audits.conclusions.settings import setting
from regard.measures.stability import Stability, rank_stability
from regard.records import Json, Score, Summary


@dataclass(frozen=True, slots=True)
class Between:
    """The order of the methods by one metric, under two operators."""

    metric: str
    setting: str
    operators: tuple[str, str]
    methods: tuple[str, ...]
    stability: Stability

    @property
    def best(self) -> tuple[str, str]:
        return self.methods[self.stability.best[0]], self.methods[self.stability.best[1]]

    def to_json(self) -> dict[str, Json]:
        f = self.stability
        numbers = {"tau": f.tau, "low": f.low, "high": f.high, "same_best": f.same_best}
        return {
            "metric": self.metric,
            "setting": self.setting,
            "operators": [*self.operators],
            "methods": [*self.methods],
            "best": [*self.best],
            "n": f.n,
            "clusters": f.clusters,
            **{name: value if math.isfinite(value) else None for name, value in numbers.items()},
        }


def stabilities(scores: Sequence[Score], summaries: Sequence[Summary], clusters: Mapping[str, str]) -> list[Between]:
    """Compare the first operator with each other one, for every metric computed under several; without baselines."""
    baselines = {s.method for s in summaries if s.role == "baseline"}
    seed = next((s.seed for s in summaries), 0)
    groups: dict[tuple[str, str], dict[str, dict[str, Score]]] = {}
    for score in scores:
        if "operator" in score.where and score.method not in baselines and score.better != "none":
            rest = ", ".join(f"{k} {v}" for k, v in setting(score.where) if k != "operator")
            by_operator = groups.setdefault((score.metric, rest), {})
            by_operator.setdefault(str(score.where["operator"]), {})[score.method] = score
    pairs = []
    for (metric, rest), by_operator in groups.items():
        first, *others = by_operator
        for other in others:
            methods = tuple(m for m in by_operator[first] if m in by_operator[other])
            ids = _common([by_operator[o][m] for o in (first, other) for m in methods])
            one, two = (np.array([_column(by_operator[o][m], ids) for m in methods]) for o in (first, other))
            if len(methods) < 2 or not ids:
                continue
            better = next(iter(by_operator[first].values())).better
            names = [clusters.get(name, name) for name in ids]
            stability = rank_stability(one, two, names, higher_is_better=better == "higher", seed=seed)
            if stability is not None:
                pairs.append(Between(metric, rest, (first, other), methods, stability))
    return pairs


def _common(scores: Sequence[Score]) -> list[str]:
    if not scores:
        return []
    common = set.intersection(*(set(s.ids) for s in scores))
    return [name for name in scores[0].ids if name in common]


def _column(score: Score, ids: Sequence[str]) -> list[float]:
    values = dict(zip(score.ids, score.values.tolist(), strict=True))
    return [values[name] for name in ids]
