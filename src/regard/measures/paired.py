"""Paired comparison of two columns on the same examples: interval and test."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.measures.intervals import ClusterSums, Interval, bootstrap, wilson
from regard.measures.keyed_random import keyed_rng
from regard.measures.significance import resampled_means

Floats = NDArray[np.float64]


def mcnemar(gained: int, lost: int) -> float:
    """Exact two-sided p of McNemar's test: pairs that changed one way and the other, as fair coins; 1 where none did.

    >>> round(mcnemar(2, 9), 4), mcnemar(0, 0)
    (0.0654, 1.0)
    """
    n, k = gained + lost, min(gained, lost)
    tail = sum(math.comb(n, i) for i in range(k + 1)) / (1 << n)
    return min(1.0, 2 * tail)


def paired_shares(new: ArrayLike, old: ArrayLike, *, level: float = 0.95, size: float | None = None) -> Interval:
    """The difference of two shares of the same examples, with Newcombe's interval (1998, method 10).

    Unlike a bootstrap, it is not a point if no example changed. size: number of independent draws, if smaller than the
    number of examples.

    >>> found = paired_shares([1] * 20, [1] * 20)
    >>> found.estimate, round(found.low, 2), round(found.high, 2)
    (0.0, -0.16, 0.16)
    """
    x, y = np.asarray(new, np.float64), np.asarray(old, np.float64)
    n = len(x)
    if not n:
        return Interval(float("nan"), float("nan"), float("nan"), level)
    scale = (size or n) / n
    both, gained, lost = (float(v) * scale for v in ((x * y).sum(), (x * (1 - y)).sum(), ((1 - x) * y).sum()))
    total = n * scale
    neither = total - both - gained - lost
    p, q = (both + gained) / total, (both + lost) / total
    (low_p, high_p), (low_q, high_q) = (wilson(k * total, total, level=level) for k in (p, q))
    phi = _phi(both, gained, lost, neither)
    down, up = (p - float(low_p), float(high_q) - q), (float(high_p) - p, q - float(low_q))
    low, high = ((a * a - 2 * phi * a * b + b * b) ** 0.5 for a, b in (down, up))
    return Interval(p - q, p - q - low, p - q + high, level)


def _phi(both: float, gained: float, lost: float, neither: float) -> float:
    """Correlation of the pair, shrunk towards 0 by half a pair."""
    margins = (both + gained) * (lost + neither) * (both + lost) * (gained + neither)
    if margins <= 0:
        return 0.0
    product = both * neither - gained * lost
    half = (both + gained + lost + neither) / 2
    corrected = max(0.0, product - half) if product > 0 else product
    return float(corrected / margins**0.5)


def paired_difference(
    new: ArrayLike, old: ArrayLike, clusters: Sequence[str], *, level: float = 0.95, seed: int = 0, draws: int = 2000
) -> tuple[Interval, float]:
    """Mean of new - old over the examples that have both, its interval, and the two-sided p of "no difference".

    Yes-or-no columns: Newcombe's interval and McNemar's exact test over examples. Others: whole clusters are drawn
    with replacement, and p is twice the share of the draws beyond 0.

    >>> found, p = paired_difference([0.4, 0.6, 0.5], [0.1, 0.3, 0.2], ["a", "b", "c"])
    >>> round(found.low, 3), round(found.high, 3), p < 0.01
    (0.3, 0.3, True)
    """
    x, y = np.asarray(new, np.float64), np.asarray(old, np.float64)
    defined = ~(np.isnan(x) | np.isnan(y))
    x, y, names = x[defined], y[defined], [c for c, yes in zip(clusters, defined, strict=True) if yes]
    if len(x) and np.isin(x, (0.0, 1.0)).all() and np.isin(y, (0.0, 1.0)).all():
        p = mcnemar(int((x > y).sum()), int((x < y).sum()))
        return paired_shares(x, y, level=level, size=len(set(names))), p
    difference = np.where(np.abs(x - y) < 1e-12, 0.0, x - y)
    interval = bootstrap(ClusterSums.of(difference, names), seed=seed, level=level, draws=draws)
    return interval, _resampled_p(difference, names, seed, draws)


def _resampled_p(difference: Floats, names: Sequence[str], seed: int, draws: int) -> float:
    if not len(difference) or not difference.any():
        return 1.0
    which = np.unique(np.asarray(names, np.str_), return_inverse=True)[1].astype(np.int64)
    means = resampled_means(difference[:, None], which, keyed_rng(seed, "paired", len(difference)), draws)[:, 0]
    # a draw that is exactly 0 speaks for neither side; one draw is added, so that p is never 0
    beyond = min(int((means <= 0).sum()), int((means >= 0).sum()))
    return min(1.0, 2 * (1 + beyond) / (1 + draws))
