"""Pruning curve: the quality of a model as heads are removed, the least important first, or at random."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from regard.measures.intervals import ClusterSums, bootstrap
from regard.measures.keyed_random import keyed_rng
from regard.protocols import Encoded, Model, Target
from regard.records import Edit, Floats
from regard.surveys.heads.importance import batches, same_decision
from regard.surveys.heads.naming import Head, by_site

SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
RANDOM = 3
"""Number of random orders to average."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Point of the curve: number of removed heads, their order, and the remaining quality with its interval.

    measure: accuracy (against labels), agreement (with the whole model's predictions) or objective.
    """

    order: str
    measure: str
    removed: int
    share: float
    estimate: float
    low: float
    high: float
    n: int


def masks(heads: Sequence[Head]) -> list[Edit]:
    """Build the edits that switch these heads off."""
    return [Edit("mask_heads", site, numbers) for site, numbers in by_site(heads).items()]


def pruning_curve(
    model: Model,
    encoded: Sequence[Encoded],
    targets: Sequence[Target],
    gold: Sequence[int | None],
    clusters: Sequence[str],
    heads: Sequence[Head],
    ranking: Sequence[int],
    *,
    seed: int,
    shares: Sequence[float] = SHARES,
    draws: int = RANDOM,
    progress: Callable[[int], None] | None = None,
) -> list[CurvePoint]:
    """Compute the pruning curve.

    `ranking`: indices of heads, the least important first. `gold`: class of each example, if known.
    """
    orders = [("least important first", list(ranking))]
    for draw in range(draws):
        orders.append(("random", keyed_rng(seed, "random heads", draw).permutation(len(heads)).tolist()))
    columns_of: dict[tuple[str, str, int], list[Floats]] = {}
    steps = 0
    for name, order in orders:
        for share in shares:
            count = round(share * len(heads))
            for measure, column in _judged(model, encoded, targets, gold, [heads[i] for i in order[:count]]).items():
                columns_of.setdefault((name, measure, count), []).append(column)
            steps += 1
            if progress is not None:
                progress(steps)
    points = []
    for (name, measure, count), columns in columns_of.items():
        value = np.mean(columns, axis=0)  # per example, over the random orders
        interval = bootstrap(ClusterSums.of(value, list(clusters)), seed=seed)
        n = int((~np.isnan(value)).sum())
        ends = interval.estimate, interval.low, interval.high
        points.append(CurvePoint(name, measure, count, count / len(heads), *ends, n))
    return points


def _judged(
    model: Model,
    encoded: Sequence[Encoded],
    targets: Sequence[Target],
    gold: Sequence[int | None],
    gone: Sequence[Head],
) -> dict[str, Floats]:
    """Measure the quality without these heads, per example and measure."""
    value, agreement, right = (np.full(len(encoded), np.nan) for _ in range(3))
    for batch in batches(encoded):
        items, about = [encoded[i] for i in batch], [targets[i] for i in batch]
        base = model.forward(items, about)
        answers = model.forward(items, about, masks(gone)) if gone else base
        value[batch] = answers.value
        same = same_decision(base, answers)
        if same is not None and answers.distribution is not None:
            agreement[batch] = same
            for row, i in enumerate(batch):
                if gold[i] is not None and np.isfinite(answers.distribution[row]).all():
                    right[i] = float(int(answers.distribution[row].argmax()) == gold[i])
    columns = {"accuracy": right, "agreement": agreement, "objective": value}
    return {name: column for name, column in columns.items() if not np.isnan(column).all()}
