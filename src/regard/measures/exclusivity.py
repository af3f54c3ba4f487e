"""Alternative attention with the same prediction, exact if the output is linear in the attention.

D_t is the answer with all attention on unit t. If the answer is sum alpha_t D_t, a cap on its change is an interval
lo <= sum alpha'_t D_t <= hi. The Jensen-Shannon divergence is convex in alpha', so the most distant alpha' within the
cap is a vertex of simplex and slab, and those have at most two non-zero weights.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def most_distant(alpha: ArrayLike, single: ArrayLike, low: float, high: float) -> tuple[float, Floats]:
    """(divergence, alpha'): of all alpha' with low <= sum alpha' single <= high, the one farthest from alpha.

    The divergence is Jensen-Shannon's, in nats.

    alpha: (n,) attention. single: (n,) the answer under attention on one unit. -1 and alpha itself where none fits.

    >>> found, other = most_distant([0.8, 0.1, 0.1], [2.0, 1.0, 2.0], 1.9, 2.1)
    >>> round(found, 3), other.tolist()
    (0.526, [0.0, 0.0, 1.0])
    """
    a, d = np.asarray(alpha, np.float64), np.asarray(single, np.float64)
    n = len(a)
    ones = np.flatnonzero((d >= low) & (d <= high))
    first, second, weight = [ones], [ones], [np.ones(len(ones))]
    i, j = (index.ravel() for index in np.meshgrid(np.arange(n), np.arange(n), indexing="ij"))
    gap = d[i] - d[j]
    for bound in (low, high):
        with np.errstate(divide="ignore", invalid="ignore"):
            w = (bound - d[j]) / gap
        inside = (gap != 0) & (w > 0) & (w < 1)
        first.append(i[inside])
        second.append(j[inside])
        weight.append(w[inside])
    i, j, w = np.concatenate(first), np.concatenate(second), np.concatenate(weight)
    if not len(i):
        return -1.0, a.copy()
    # only two entries of the mixture differ from alpha / 2, so only they are computed
    rest = 0.5 * np.log(2.0) * a
    own = rest.sum() - np.where(i == j, rest[i], rest[i] + rest[j])
    pair = _term(w, a[i]) + np.where(i == j, 0.0, _term(1 - w, a[j]))
    values = own + pair
    best = int(np.argmax(values))
    other = np.zeros(n)
    other[i[best]] += w[best]
    other[j[best]] += 1 - w[best]
    return float(values[best]), other


def _term(p: Floats, q: Floats) -> Floats:
    """Contribution of one entry to the divergence of p and q."""
    m = 0.5 * (p + q)
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.where(p > 0, p * np.log(np.where(p > 0, p, 1.0) / m), 0.0)
        right = np.where(q > 0, q * np.log(np.where(q > 0, q, 1.0) / np.where(m > 0, m, 1.0)), 0.0)
    return np.asarray(0.5 * (left + right))


def log_odds_within(p: float, cap: float) -> tuple[float, float]:
    """The log-odds of all probabilities within `cap` of p; none is too large for one that may reach 1, or small for 0.

    >>> log_odds_within(0.5, 0.25)
    (-1.0986122886681098, 1.0986122886681098)
    >>> log_odds_within(0.99, 0.05)[1]
    inf
    """
    low = float(np.log((p - cap) / (1 - p + cap))) if p > cap else -np.inf
    high = float(np.log((p + cap) / (1 - p - cap))) if p + cap < 1 else np.inf
    return low, high


def displaceable(single: ArrayLike, avoid: ArrayLike, low: float, high: float) -> bool:
    """Return whether attention without any weight on the units of `avoid` can give an answer between low and high.

    >>> displaceable([2.0, 1.0, 3.0], [True, False, False], 1.9, 2.1)
    True
    """
    left = np.asarray(single, np.float64)[~np.asarray(avoid, np.bool_)]
    return bool(len(left) and left.min() <= high and left.max() >= low)


def heaviest(alpha: ArrayLike, share: float = 0.5) -> NDArray[np.bool_]:
    """(n,) the smallest set that holds at least this share of the attention; ties by position.

    >>> heaviest([0.2, 0.5, 0.3]).tolist()
    [False, True, False]
    """
    a = np.asarray(alpha, np.float64)
    down = np.argsort(-a, kind="stable")
    count = int(np.searchsorted(np.cumsum(a[down]), share * a.sum() - 1e-12) + 1)
    mask = np.zeros(len(a), np.bool_)
    mask[down[:count]] = True
    return mask
