"""Metrics of source scores, all from one table of exact answers with sources deleted.

The table maps sets of deleted sources to the log-odds of the answer in nats, and to the geometric mean of its token
probabilities. `drawn_subsets` and `curve_sets` name the sets that a metric needs; a missing one is a KeyError.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.measures.agreement import spearman

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Subset = frozenset[int]
LEAST_EFFECT = 0.1
"""Minimum exact effect in nats that has a sign."""


@dataclass(frozen=True, slots=True)
class ExactAnswers:
    """Answers to a prompt of `count` sources: deleted sources -> log-odds, and -> mean token probability."""

    count: int
    nats: Mapping[Subset, float]
    probabilities: Mapping[Subset, float]

    @property
    def whole(self) -> float:
        """Drop in nats when all sources are deleted."""
        return self.drop(range(self.count))

    @property
    def effects(self) -> Floats:
        """(sources,) drops in nats when each source is deleted alone."""
        return np.array([self.drop([number]) for number in range(self.count)])

    def drop(self, deleted: Sequence[int] | range) -> float:
        """Drop in nats when these sources are deleted."""
        return self.nats[frozenset()] - self.nats[frozenset(deleted)]


def ranking(scores: Floats) -> tuple[int, ...]:
    """Sources by falling score; equal scores keep the order of the prompt.

    >>> ranking(np.array([0.1, 3.0, 0.1]))
    (1, 0, 2)
    """
    return tuple(int(number) for number in np.argsort(-scores, kind="stable"))


def curve_sets(order: Sequence[int], depth: int) -> list[Subset]:
    """Sets of deleted sources for the curves of a ranking: the best k, and all but the best k, up to `depth`."""
    steps = range(min(depth, len(order)) + 1)
    return [frozenset(order[:k]) for k in steps] + [frozenset(order[k:]) for k in steps]


def drawn_subsets(count: int, n: int, rng: np.random.Generator) -> Bools:
    """(n, count) random subsets of sources to keep, each source with chance one half."""
    return rng.random((n, count)) < 0.5


def comprehensiveness(table: ExactAnswers, order: Sequence[int], k: int = 1) -> float:
    """Drop in nats when the best k sources are deleted; high is good."""
    return table.drop(order[:k])


def sufficiency(table: ExactAnswers, order: Sequence[int], k: int = 1) -> float:
    """Drop in nats when all but the best k sources are deleted; low is good."""
    return table.drop(order[k:])


def aopc(table: ExactAnswers, order: Sequence[int], depth: int) -> tuple[float, float]:
    """Mean comprehensiveness and mean sufficiency over k = 1 .. depth."""
    steps = range(1, min(depth, table.count) + 1)
    drops = [(comprehensiveness(table, order, k), sufficiency(table, order, k)) for k in steps]
    mean = np.mean(drops, axis=0)
    return float(mean[0]), float(mean[1])


def areas(table: ExactAnswers, order: Sequence[int]) -> tuple[float, float]:
    """Areas under the probability while sources are deleted best first (low is good), and added best first (high)."""
    steps = range(table.count + 1)
    deletion = [table.probabilities[frozenset(order[:k])] for k in steps]
    insertion = [table.probabilities[frozenset(order[k:])] for k in steps]
    return float(np.trapezoid(deletion) / table.count), float(np.trapezoid(insertion) / table.count)


def keep_chances(scores: Floats) -> Floats:
    """Chance of each source to be kept in soft sufficiency: its positive score as a share of the largest one."""
    positive = np.maximum(scores, 0.0)
    return positive / positive.max() if positive.max() > 0 else positive


def soft_subsets(scores: Floats, n: int, rng: np.random.Generator) -> tuple[list[Subset], list[Subset]]:
    """Sets of deleted sources: `n` for soft sufficiency, and the complements for soft comprehensiveness."""
    kept = rng.random((n, len(scores))) < keep_chances(scores)
    sufficient = [frozenset(np.flatnonzero(~row).tolist()) for row in kept]
    return sufficient, [frozenset(np.flatnonzero(row).tolist()) for row in kept]


def soft_scores(
    table: ExactAnswers, sufficient: Sequence[Subset], comprehensive: Sequence[Subset]
) -> tuple[float, float]:
    """Soft normalised comprehensiveness and sufficiency (Zhao and Aletras 2023) over drawn subsets; 1 is best.

    Sources are kept with chances that follow the scores, instead of the best k; a drop p - p' of the probability counts
    from 0, and is normalised by the drop when all sources are deleted. NaN if that drop is zero.
    """
    full = table.probabilities[frozenset()]

    def drop(deleted: Subset) -> float:
        return max(0.0, full - table.probabilities[deleted])

    largest = drop(frozenset(range(table.count)))
    if largest <= 0:
        return float("nan"), float("nan")
    comprehensiveness = np.mean([drop(deleted) for deleted in comprehensive]) / largest
    sufficiency = 1 - np.mean([drop(deleted) for deleted in sufficient]) / largest
    return float(np.clip(comprehensiveness, 0, 1)), float(np.clip(sufficiency, 0, 1))


def polarity_violations(scores: Floats, effects: Floats, *, least: float = LEAST_EFFECT) -> float:
    """Share of the sources whose score has the opposite sign of their exact effect; NaN if no effect has a sign.

    Effects below `least` are skipped, and a score of 0 is no violation.

    >>> polarity_violations(np.array([2.0, 1.0, 0.5, 0.0]), np.array([3.0, -1.0, 0.05, -2.0]))
    0.3333333333333333
    """
    clear = np.abs(effects) >= least
    return float(np.mean((scores * effects < 0)[clear])) if clear.any() else float("nan")


def lds(scores: Floats, subsets: Bools, values: Floats) -> float:
    """Linear datamodeling score: Spearman correlation of summed scores of the kept sources with the exact log-odds.

    subsets: (draws, sources) kept. values: (draws,). NaN where either side is constant.
    """
    return _correlation(subsets @ scores, values)


def counting_lds(subsets: Bools, values: Floats) -> float:
    """Baseline of `lds`: a score of 1 for every source, which counts the kept ones."""
    return _correlation(subsets.sum(1).astype(np.float64), values)


def _correlation(x: Floats, y: Floats) -> float:
    return float(spearman(x, y)) if np.ptp(x) > 0 and np.ptp(y) > 0 else float("nan")
