"""The slices of the data on which the map is wrong more often than elsewhere: length, confidence, class, columns."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from regard.judge.evidence import Evidence
from regard.judge.example_trust import ExampleTrust
from regard.judge.margins import LEVEL
from regard.judge.mean_tests import Mean
from regard.measures.bounded_mean import FEWEST_CLUSTERS
from regard.measures.significance import holm
from regard.records import Bools, Json

MOST_VALUES = 12
"""A column with more values than this is no slicing."""


@dataclass(frozen=True, slots=True)
class TrustSlice:
    """The share of inputs on which the map is wrong, inside a slice and outside it.

    kind: "length", "confidence", "class", "label" or "column"; column: the name of that column. gap: inside - outside,
    with its 95 % interval; p: two-sided, corrected over all slices by Holm.
    """

    kind: str
    column: str
    value: str
    n: int
    inside: float
    outside: float
    gap: float
    low: float
    high: float
    p: float

    @property
    def differs(self) -> bool:
        return self.p < LEVEL

    @property
    def row(self) -> dict[str, Json]:
        return {
            "slice": self.column or self.kind,
            "value": self.value,
            "n": self.n,
            "wrong inside": round(self.inside, 3),
            "wrong elsewhere": round(self.outside, 3),
            "difference": [round(self.gap, 3), round(self.low, 3), round(self.high, 3)],
            "p": round(self.p, 4),
        }


def trust_slices(evidence: Evidence, trust: ExampleTrust) -> tuple[TrustSlice, ...]:
    """Every slice with enough examples inside and outside, corrected over all of them, the surest difference first.

    Only examples on which something has an effect count. Two values are one comparison: the worse one is named.
    """
    defined = trust.defined
    wrong, clusters = trust.wrong[defined], np.asarray(evidence.clusters, np.str_)[defined]
    comparisons = []
    for (kind, column), values in evidence.columns.items():
        own = np.asarray(values, np.str_)[defined]
        names = sorted({str(value) for value in own if value})
        if not 2 <= len(names) <= MOST_VALUES:
            continue
        differences = [(name, own == name, _difference(wrong, own == name, clusters)) for name in names]
        if len(names) == 2:
            differences = [max(differences, key=lambda row: row[2].estimate)]
        comparisons += [(kind, column, *row) for row in differences if _enough(clusters, row[1])]
    corrected = holm([min(1.0, 2 * min(m.p("above", 0.0), m.p("below", 0.0))) for *_, m in comparisons])
    slices = [
        _slice(kind, column, value=name, inside=inside, wrong=wrong, mean=mean, p=float(p))
        for (kind, column, name, inside, mean), p in zip(comparisons, corrected, strict=True)
    ]
    return tuple(sorted(slices, key=lambda s: (s.p, -abs(s.gap))))


def _enough(clusters: NDArray[np.str_], inside: Bools) -> bool:
    return min(len(np.unique(clusters[inside])), len(np.unique(clusters[~inside]))) >= FEWEST_CLUSTERS


def _slice(kind: str, column: str, *, value: str, inside: Bools, wrong: Bools, mean: Mean, p: float) -> TrustSlice:
    low, high = mean.interval(0.95)
    return TrustSlice(
        kind=kind,
        column=column,
        value=value,
        n=int(inside.sum()),
        inside=float(wrong[inside].mean()),
        outside=float(wrong[~inside].mean()),
        gap=mean.estimate,
        low=max(-1.0, low),
        high=min(1.0, high),
        p=p,
    )


def _difference(wrong: Bools, inside: Bools, clusters: NDArray[np.str_]) -> Mean:
    """The difference of two shares as one clustered mean, one of each answer added on both sides (Agresti, Caffo 2000).

    Each example carries the difference and its influence on it, so that the error of the mean is the cluster-robust
    error of the difference, and no share is certain. The test is Student's: the added answers take the place of bounds.
    """
    answers = np.append(wrong.astype(np.float64), [0.0, 1.0, 0.0, 1.0])
    sides = np.append(inside, [True, True, False, False])
    names = [*clusters, *(f"added {i}" for i in range(4))]
    shares = {side: float(answers[sides == side].mean()) for side in (True, False)}
    influence = np.zeros(len(answers))
    for side, sign in ((True, 1.0), (False, -1.0)):
        part = sides == side
        influence[part] = sign * len(answers) / part.sum() * (answers[part] - shares[side])
    return replace(Mean.of(shares[True] - shares[False] + influence, names), bounded=None)
