"""p-values of means, and correction for multiple tests."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def upper_tail(t: ArrayLike, freedom: ArrayLike) -> Floats:
    """P(T >= t) of Student's t by Wallace's approximation (1959); a little too large in the far tail of few degrees.

    Infinite degrees of freedom give the normal distribution itself.

    >>> float(upper_tail(2.0, 10).round(4)), float(upper_tail(1.959964, np.inf).round(4))
    (0.0367, 0.025)
    """
    x, n = np.broadcast_arrays(np.asarray(t, np.float64), np.asarray(freedom, np.float64))
    finite = np.isfinite(n)
    size = np.where(finite, n, 1.0)
    bent = np.sqrt(size * np.log1p(np.minimum(x * x, 1e300) / size)) * (8 * size + 1) / (8 * size + 3)
    z = np.where(finite, np.sign(x) * bent, x)
    return np.asarray(0.5 * np.vectorize(math.erfc, otypes=[np.float64])(z / math.sqrt(2.0)))


@cache
def t_quantile(tail: float, freedom: float) -> float:
    """Return the t with P(T >= t) = tail, by bisection of `upper_tail`.

    >>> round(t_quantile(0.025, 10), 2), round(t_quantile(0.05, float("inf")), 3)
    (2.23, 1.645)
    """
    low, high = -1e3, 1e3
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if float(upper_tail(middle, freedom)) > tail else (low, middle)
    return high


def holm(p: ArrayLike) -> Floats:
    """Holm's correction of p-values for multiple tests (1979); NaN stays NaN and does not count.

    >>> holm([0.01, 0.04, 0.03]).round(4).tolist()
    [0.03, 0.06, 0.06]
    """
    probabilities = np.asarray(p, np.float64)
    out = np.full(probabilities.shape, np.nan)
    questions = np.flatnonzero(~np.isnan(probabilities.ravel()))
    values = probabilities.ravel()[questions]
    order = np.argsort(values, kind="stable")
    stepped = np.maximum.accumulate(values[order] * (len(values) - np.arange(len(values))))
    flat = out.ravel()
    flat[questions[order]] = np.minimum(stepped, 1.0)
    return flat.reshape(probabilities.shape)


def resampled_means(values: Floats, clusters: NDArray[np.int64], rng: np.random.Generator, draws: int) -> Floats:
    """(draw, column) means of (example, column) values with whole clusters drawn with replacement.

    NaN is skipped; a column without values in a draw is NaN there. All columns share their draws, so differences
    between columns are resampled together.
    """
    count = int(clusters.max(initial=-1)) + 1
    defined = ~np.isnan(values)
    sums, sizes = np.zeros((count, values.shape[1])), np.zeros((count, values.shape[1]))
    np.add.at(sums, clusters, np.where(defined, values, 0.0))
    np.add.at(sizes, clusters, defined)
    times = rng.multinomial(count, np.full(count, 1.0 / count), size=draws).astype(np.float64)
    total = times @ sizes
    return np.where(total > 0, (times @ sums) / np.where(total > 0, total, 1.0), np.nan)
