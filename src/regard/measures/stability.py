"""Stability of method rankings between two settings, by cluster bootstrap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from regard.errors import phrase
from regard.measures.agreement import kendall
from regard.measures.keyed_random import keyed_rng


@dataclass(frozen=True, slots=True)
class Stability:
    """Stability of an order of methods.

    tau: Kendall's tau-b between the two orders, with its interval. n: examples judged under both settings. best:
    position of the best method under either setting. same_best: share of resamples in which both agree on the best.
    """

    tau: float
    low: float
    high: float
    n: int
    clusters: int
    best: tuple[int, int]
    same_best: float


def rank_stability(
    one: ArrayLike,
    other: ArrayLike,
    clusters: Sequence[str],
    *,
    higher_is_better: bool,
    seed: int = 0,
    level: float = 0.95,
    draws: int = 2000,
) -> Stability | None:
    """Compare the rankings of methods by two (methods, examples) score tables; skip examples with a NaN.

    None if fewer than two methods or no example is left. The interval is NaN for fewer than two clusters.

    >>> a = np.array([[3.0, 3.0], [2.0, 2.0], [1.0, 1.0]])
    >>> found = rank_stability(a, a[[1, 0, 2]], ["x", "y"], higher_is_better=True)
    >>> round(found.tau, 3), found.best, found.same_best
    (0.333, (0, 1), 0.0)
    """
    a, b = np.asarray(one, np.float64), np.asarray(other, np.float64)
    if a.shape != b.shape or a.ndim != 2 or a.shape[1] != len(clusters):
        shapes = f"{a.shape}, {b.shape}"
        raise ValueError(phrase("errors.measures.methods_by_examples", shapes=shapes, clusters=len(clusters)))
    defined = np.isfinite(a).all(0) & np.isfinite(b).all(0)
    if len(a) < 2 or not defined.any():
        return None
    sign = 1.0 if higher_is_better else -1.0
    both = sign * np.stack([a[:, defined], b[:, defined]])
    _, where = np.unique(np.asarray(clusters, np.str_)[defined], return_inverse=True)
    count = np.bincount(where).astype(np.float64)
    sums = both @ np.eye(len(count))[where]  # (settings, methods, clusters)
    whole = sums.sum(-1) / count.sum()
    tau = float(kendall(whole[0], whole[1]))
    best = int(whole[0].argmax()), int(whole[1].argmax())
    sizes = {"n": int(defined.sum()), "clusters": len(count)}
    if len(count) < 2:
        return Stability(tau, np.nan, np.nan, best=best, same_best=float("nan"), **sizes)
    rng = keyed_rng(seed, "rank_stability", len(count))
    weights = rng.multinomial(len(count), np.full(len(count), 1 / len(count)), size=draws).astype(np.float64)
    means = np.einsum("smc,dc->sdm", sums, weights) / (weights @ count)[:, None]
    taus = kendall(means[0], means[1])
    taus = taus[np.isfinite(taus)]
    tails = ((1 - level) / 2, (1 + level) / 2)
    low, high = np.quantile(taus, tails) if len(taus) else (np.nan, np.nan)
    same = float((means[0].argmax(-1) == means[1].argmax(-1)).mean())
    # noise makes resampled orders less alike than the orders themselves: the interval must not leave out its own tau
    low, high = (np.nan, np.nan) if np.isnan(tau) else (min(low, tau), max(high, tau))
    return Stability(tau, float(low), float(high), best=best, same_best=same, **sizes)
