"""Rank agreement between relevances, along the last axis, all rows at once.

Values closer than `ranking.TIE` are tied. A constant vector ranks nothing, so its agreement is NaN, never 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.errors import phrase
from regard.measures import concordance
from regard.measures.keyed_random import keyed_rng
from regard.measures.ranking import TIE, Floats, Ints, levels, order, ranks, top_k

Measure: TypeAlias = Callable[[Floats, Floats], Floats]
"""(rows, n) and (rows, n) -> (rows,)."""

_CELLS = 1 << 18  # pairs compared at once: the comparison tables stay in the cache


def kendall(x: ArrayLike, y: ArrayLike) -> Floats:
    """(...) Kendall's tau-b of (..., n) and (..., n); NaN where either is constant or n < 2.

    >>> float(kendall([3.0, 2.0, 1.0], [30.0, 10.0, 20.0]).round(4))
    0.3333
    """
    (a, b), shape, n = _rows(x, y)
    la, lb = levels(a), levels(b)
    if n < 2:
        return np.full(shape, np.nan)
    pairs = n * (n - 1) // 2
    tied_a, tied_b = _tied_pairs(la), _tied_pairs(lb)
    tied_in_both = tied_a.any() and tied_b.any()
    tied_both = _tied_pairs(np.sort(la * n + lb, axis=-1), is_sorted=True) if tied_in_both else 0
    untied = pairs - tied_a - tied_b + tied_both
    up = _concordant(la, lb)
    with np.errstate(divide="ignore", invalid="ignore"):
        tau = (2.0 * up - untied) / np.sqrt((pairs - tied_a) * (pairs - tied_b).astype(np.float64))
    return np.clip(tau, -1, 1).reshape(shape)


def spearman(x: ArrayLike, y: ArrayLike) -> Floats:
    """(...) Spearman's rho (tied values share their mean rank); NaN where either is constant.

    >>> float(spearman([3.0, 2.0, 1.0], [30.0, 10.0, 20.0]))
    0.5
    """
    (a, b), shape, n = _rows(x, y)
    ra, rb = ranks(a) - (n + 1) / 2, ranks(b) - (n + 1) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = (ra * rb).sum(-1) / np.sqrt((ra * ra).sum(-1) * (rb * rb).sum(-1))
    return np.asarray(np.clip(rho, -1, 1)).reshape(shape)


def pearson(x: ArrayLike, y: ArrayLike) -> Floats:
    """(...) Pearson's correlation of the values themselves; NaN where either is constant.

    >>> float(pearson([3.0, 2.0, 1.0], [30.0, 10.0, 20.0]))
    0.5
    """
    (a, b), shape, n = _rows(x, y)
    if n == 0:
        return np.full(shape, np.nan)
    da, db = a - a.mean(-1, keepdims=True), b - b.mean(-1, keepdims=True)
    varied = (np.ptp(a, axis=-1) > 0) & (np.ptp(b, axis=-1) > 0)  # the mean of equal numbers need not be that number
    with np.errstate(divide="ignore", invalid="ignore"):
        r = np.where(varied, (da * db).sum(-1) / np.sqrt((da * da).sum(-1) * (db * db).sum(-1)), np.nan)
    return np.asarray(np.clip(r, -1, 1)).reshape(shape)


def weighted_kendall(x: ArrayLike, y: ArrayLike) -> Floats:
    """(...) Vigna's weighted tau (2015): exchanges near the top weigh more (additive hyperbolic weights).

    As `scipy.stats.weightedtau` with its defaults: the mean of the values for the ranking by x and the one by y.
    """
    (a, b), shape, n = _rows(x, y)
    la, lb = levels(a), levels(b)
    out = np.full(len(a), np.nan)
    for part in _chunks(len(a), n):
        sa, sb = _signs(la[part]), _signs(lb[part])
        # the weights are additive, so a pair's weight splits over its two units and row sums suffice
        sums = [m.sum(-1, dtype=np.float64) for m in (sa * sb, np.abs(sa), np.abs(sb))]
        taus = []
        for first, second in ((la[part], lb[part]), (lb[part], la[part])):
            place = np.empty_like(first)
            np.put_along_axis(place, np.lexsort((second, first), axis=-1), np.arange(n)[None], -1)
            c, u, v = ((m / (1.0 + place)).sum(-1) for m in sums)
            with np.errstate(divide="ignore", invalid="ignore"):
                taus.append(c / np.sqrt(u * v))
        out[part] = (taus[0] + taus[1]) / 2
    return np.asarray(np.clip(out, -1, 1), np.float64).reshape(shape)


def top_k_overlap(x: ArrayLike, y: ArrayLike, *, k: int = 5) -> Floats:
    """(...) share of the k highest of x that are among the k highest of y; k is cut to n. NaN where n = 0.

    >>> float(top_k_overlap([3.0, 2.0, 1.0, 0.0], [3.0, 0.0, 2.0, 1.0], k=2))
    0.5
    """
    (a, b), shape, n = _rows(x, y)
    if n == 0:
        return np.full(shape, np.nan)
    shared = (top_k(a, k) & top_k(b, k)).sum(-1) / min(k, n)
    return np.asarray(shared, np.float64).reshape(shape)


def rbo(x: ArrayLike, y: ArrayLike, *, p: float = 0.9) -> Floats:
    """(...) rank-biased overlap, extrapolated (Webber, Moffat & Zobel 2010, eq. 32): 0 disjoint tops, 1 identical.

    p is the chance that a reader goes on to the next rank. NaN where n = 0.
    """
    (a, b), shape, n = _rows(x, y)
    if n == 0:
        return np.full(shape, np.nan)
    place_a, place_b = np.argsort(order(a), axis=-1), np.argsort(order(b), axis=-1)
    seen_at = np.maximum(place_a, place_b)  # the depth at which a unit is in both tops
    shared = np.cumsum(_counts(seen_at, n), axis=-1)
    depth = np.arange(1, n + 1)
    weight = p**depth
    sums = (shared / depth * weight).sum(-1) * (1 - p) / p + shared[:, -1] / n * p**n
    return np.asarray(sums, np.float64).reshape(shape)


def ragged(measure: Measure, xs: Sequence[Floats], ys: Sequence[Floats]) -> Floats:
    """(len(xs),) the measure of every pair; pairs of one length are computed together.

    A pair with a value that is not finite is NaN. Much work for `kendall` is compiled where numba is installed.
    """
    out = np.full(len(xs), np.nan)
    if len(xs) != len(ys) or any(len(x) != len(y) for x, y in zip(xs, ys, strict=True)):
        raise ValueError(phrase("errors.measures.pairs_of_equal_length"))
    if not len(xs):
        return out
    lengths = np.array([len(x) for x in xs], np.int64)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    x, y = (np.concatenate([np.asarray(v, np.float64) for v in columns]) for columns in (xs, ys))
    broken = np.concatenate([[0], np.cumsum(~(np.isfinite(x) & np.isfinite(y)))])
    fine = broken[offsets[1:]] == broken[offsets[:-1]]
    if measure is kendall and int((lengths**2).sum()) >= concordance.WORTHWHILE and concordance.compiled():
        out[fine], fine[fine] = _compiled_kendall(x, y, offsets, fine)
    for n in np.unique(lengths[fine]).tolist():
        here = np.flatnonzero(fine & (lengths == n))
        place = offsets[here][:, None] + np.arange(n)
        out[here] = measure(x[place], y[place])
    return out


def _compiled_kendall(x: Floats, y: Floats, offsets: Ints, fine: NDArray[np.bool_]) -> tuple[Floats, NDArray[np.bool_]]:
    """Return tau-b of the rows without near ties, and the remaining rows, which need levels."""
    up, tied_x, tied_y, near = concordance.counts(x, y, offsets, TIE)[fine].T
    n = np.diff(offsets)[fine]
    pairs = n * (n - 1) // 2
    with np.errstate(divide="ignore", invalid="ignore"):
        tau = up / np.sqrt((pairs - tied_x) * (pairs - tied_y).astype(np.float64))
    return np.clip(tau, -1, 1), near > 0


def null_sd(n: ArrayLike) -> Floats:
    """(...) standard deviation of Kendall's tau between two unrelated rankings of n units without ties.

    Half of what looks like agreement in short texts is this spread.

    >>> null_sd([14, 20, 179]).round(3).tolist()
    [0.201, 0.162, 0.05]
    """
    m = np.asarray(n, np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        sd = np.sqrt(2 * (2 * m + 5) / (9 * m * (m - 1)))
    return np.where(m >= 2, sd, np.nan)


def null_spread(measure: Measure, n: int, *, seed: int = 0, draws: int = 500) -> tuple[float, float]:
    """Mean and standard deviation of `measure` between two unrelated rankings of n units, by permutation."""
    rng = keyed_rng(seed, "null_spread", n)
    fixed = np.arange(n, dtype=np.float64)
    permutations = rng.permuted(np.broadcast_to(fixed, (draws, n)), axis=-1)
    values = measure(np.broadcast_to(fixed, (draws, n)), permutations)
    return float(np.mean(values)), float(np.std(values, ddof=1))


def _rows(x: ArrayLike, y: ArrayLike) -> tuple[tuple[Floats, Floats], tuple[int, ...], int]:
    a, b = np.broadcast_arrays(np.asarray(x, np.float64), np.asarray(y, np.float64))
    shape, n = a.shape[:-1], a.shape[-1]
    flat = (int(np.prod(shape)), n)
    return (a.reshape(flat), b.reshape(flat)), shape, n


def _chunks(rows: int, n: int) -> list[slice]:
    size = max(1, _CELLS // max(1, n * n))
    return [slice(i, i + size) for i in range(0, rows, size)]


def _signs(level: Ints) -> NDArray[np.int8]:
    return np.asarray(np.sign(level[:, :, None] - level[:, None, :]), np.int8)


def _concordant(la: Ints, lb: Ints) -> Ints:
    """Pairs that both rank the same way, by comparing all pairs and counting bits eight at a time."""
    rows, n = la.shape
    width = -(-n // 8) * 8
    kind = np.int16 if n < 2**15 else np.int64
    # Padding is below every level in one and above in the other: it agrees with nothing.
    a, b = np.full((rows, width), -1, kind), np.full((rows, width), n, kind)
    a[:, :n], b[:, :n] = la, lb
    out = np.empty(rows, np.int64)
    for part in _chunks(rows, width):
        both = a[part, :, None] < a[part, None, :]
        both &= b[part, :, None] < b[part, None, :]
        words = both.reshape(len(both), -1).view(np.uint64)
        out[part] = np.bitwise_count(words).sum(-1, dtype=np.int64)
    return out


def _counts(level: Ints, size: int) -> Ints:
    """(rows, size): count of each level in each row."""
    rows = level.shape[0]
    flat = (level + np.arange(rows)[:, None] * size).ravel()
    return np.bincount(flat, minlength=rows * size).reshape(rows, size)


def _tied_pairs(level: Ints, *, is_sorted: bool = False) -> Ints:
    if is_sorted:
        new = np.zeros(level.shape, np.int64)
        new[:, 1:] = level[:, 1:] != level[:, :-1]
        level = np.cumsum(new, axis=-1)
    elif (level.max(-1) == level.shape[-1] - 1).all():  # dense ranks up to n - 1: nothing is tied
        return np.zeros(len(level), np.int64)
    c = _counts(level, level.shape[-1])
    return np.asarray((c * (c - 1) // 2).sum(-1))
