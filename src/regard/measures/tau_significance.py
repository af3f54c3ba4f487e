"""p-value of Kendall's tau between unrelated rankings."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.measures.agreement import null_sd

EXACT = 50
"""Maximum units for the exact distribution; above, the normal one is as good."""


def kendall_p(tau: ArrayLike, n: ArrayLike) -> NDArray[np.float64]:
    """(...) two-sided p of tau between unrelated rankings of n units without ties; NaN where tau is.

    It reflects n more than agreement: p = .05 needs a tau of .39 at n = 14, and of .03 at n = 2188.

    >>> kendall_p([0.6, 0.6], [5, 50]).round(4).tolist()
    [0.2333, 0.0]
    """
    taus, sizes = np.broadcast_arrays(np.asarray(tau, np.float64), np.asarray(n, np.int64))
    probabilities = [_p(float(t), int(m)) for t, m in zip(taus.ravel(), sizes.ravel(), strict=True)]
    return np.array(probabilities, np.float64).reshape(taus.shape)


def _p(tau: float, n: int) -> float:
    if math.isnan(tau) or n < 2:
        return math.nan
    if n > EXACT:
        return math.erfc(abs(tau) / float(null_sd(n)) / math.sqrt(2))
    pairs = n * (n - 1) // 2
    # the number of discordant pairs; ties put tau between two of them, and the nearer one to 0 is taken
    discordant = math.floor(pairs * (1 - abs(tau)) / 2 + 1e-9)
    return min(1.0, 2 * _at_most(n)[discordant])


@cache
def _at_most(n: int) -> tuple[float, ...]:
    """Share of the permutations of n with at most 0, 1, 2... inversions."""
    counts = np.ones(1)
    for m in range(2, n + 1):
        counts = np.convolve(counts, np.full(m, 1 / m))
    return tuple(np.minimum(np.cumsum(counts), 1.0).tolist())
