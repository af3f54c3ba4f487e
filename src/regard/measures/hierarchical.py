"""Paired differences over random seeds and examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.errors import phrase
from regard.measures.keyed_random import keyed_rng
from regard.measures.significance import upper_tail

Floats = NDArray[np.float64]
_DRAWS_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class PairedOverSeeds:
    """Mean of new - old over all pairs of (seed, example), its interval, and two tests of "no difference".

    p: twice the share of the resampled means beyond 0. p_seeds: Student's paired t over the means of the seeds, NaN
    with one seed. by_seed: those means, NaN where a seed has no pair. n: pairs; examples: those in any pair.
    """

    estimate: float
    low: float
    high: float
    level: float
    p: float
    p_seeds: float
    by_seed: tuple[float, ...]
    n: int
    examples: int


def paired_over_seeds(
    new: ArrayLike, old: ArrayLike, clusters: Sequence[str], *, level: float = 0.95, seed: int = 0, draws: int = 2000
) -> PairedOverSeeds:
    """Compare new and old, (seeds, examples) with NaN for undefined values, on the pairs that have both.

    Every draw takes seeds with replacement and, independently, whole clusters of examples with replacement: each seed
    has the same examples, so the two are crossed, not nested (the pigeonhole bootstrap, Owen 2007, which errs on the
    safe side). A few seeds that are drawn with replacement vary too little, by (S - 1) / S; the deviations of their
    means are stretched by the root of S / (S - 1) to make up for it.

    >>> old = np.zeros((2, 4))
    >>> found = paired_over_seeds(old + [[0.1, 0.2, 0.3, 0.2]], old, ["a", "b", "c", "d"])
    >>> round(found.estimate, 3), found.low > 0, found.p < 0.01, found.n
    (0.2, True, True, 8)
    """
    x, y = np.atleast_2d(np.asarray(new, np.float64)), np.atleast_2d(np.asarray(old, np.float64))
    if x.shape != y.shape or x.shape[1] != len(clusters):
        shapes = f"{x.shape}, {y.shape}"
        raise ValueError(phrase("errors.measures.seeds_by_examples", clusters=len(clusters), shapes=shapes))
    gap = x - y
    defined = ~np.isnan(gap)
    names = np.unique(np.asarray(clusters, np.str_), return_inverse=True)[1]
    count = int(names.max(initial=-1)) + 1
    sums, sizes = np.zeros((len(gap), count)), np.zeros((len(gap), count))
    for s in range(len(gap)):
        np.add.at(sums[s], names[defined[s]], gap[s, defined[s]])
        np.add.at(sizes[s], names[defined[s]], 1.0)
    total = sizes.sum()
    with np.errstate(invalid="ignore"):
        by_seed = sums.sum(1) / np.where(sizes.sum(1) > 0, sizes.sum(1), np.nan)
    estimate = float(sums.sum() / total) if total else float("nan")
    examples = int(defined.any(0).sum())
    means = _resampled(_stretched(sums, sizes, estimate), sizes, seed, draws) if total else np.zeros(0)
    means = means[np.isfinite(means)]
    low, high, p = float("nan"), float("nan"), 1.0
    if len(means) and examples > 1:
        low, high = (float(q) for q in np.quantile(means, [(1 - level) / 2, (1 + level) / 2]))
        # a draw that is exactly 0 speaks for neither side; one draw is added, so that p is never 0
        beyond = min(int((means <= 0).sum()), int((means >= 0).sum()))
        p = min(1.0, 2 * (1 + beyond) / (1 + len(means)))
    counts = {"n": int(total), "examples": examples}
    seed_means = tuple(by_seed.tolist())
    return PairedOverSeeds(estimate, low, high, level, p, p_seeds=_student(by_seed), by_seed=seed_means, **counts)


def _stretched(sums: Floats, sizes: Floats, estimate: float) -> Floats:
    """Scale the deviation of every seed's mean from the common mean, to correct for few seeds."""
    seeds = len(sums)
    if seeds < 2:
        return sums
    per = sizes.sum(1, keepdims=True)
    away = sums.sum(1, keepdims=True) / np.maximum(per, 1) - estimate
    return np.asarray(sums + sizes * away * ((seeds / (seeds - 1)) ** 0.5 - 1))


def _resampled(sums: Floats, sizes: Floats, seed: int, draws: int) -> Floats:
    seeds, count = sums.shape
    rng = keyed_rng(seed, "paired over seeds", seeds, count)
    means = []
    for start in range(0, draws, _DRAWS_AT_ONCE):
        many = min(_DRAWS_AT_ONCE, draws - start)
        by_seed = rng.multinomial(seeds, np.full(seeds, 1 / seeds), size=many).astype(np.float64)
        by_example = rng.multinomial(count, np.full(count, 1 / count), size=many).astype(np.float64)
        above, below = ((by_seed @ part * by_example).sum(1) for part in (sums, sizes))
        means.append(np.where(below > 0, above / np.where(below > 0, below, 1.0), np.nan))
    return np.concatenate(means)


def _student(means: Floats) -> float:
    finite = means[np.isfinite(means)]
    if len(finite) < 2:
        return float("nan")
    spread = float(finite.std(ddof=1))
    if spread <= 1e-12:
        return 1.0 if abs(float(finite.mean())) <= 1e-12 else 0.0
    t = float(finite.mean()) / (spread / len(finite) ** 0.5)
    return min(1.0, 2 * float(upper_tail(abs(t), len(finite) - 1)))
