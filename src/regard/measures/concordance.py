"""Concordant, discordant and tied pairs of many rankings at once, compiled by numba where it is installed.

The extra `regard[fast]` brings numba. Without it, and for little work, `agreement.kendall` counts with numpy: the same
values, some ten times slower.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Kernel = Callable[[Floats, Floats, Ints, float, Ints], None]

WORTHWHILE = 50_000_000
"""Minimum comparisons for which compiling (a second, once) pays."""


def compiled() -> bool:
    """Return whether numba is installed, without importing it."""
    return find_spec("numba") is not None


def counts(x: Floats, y: Floats, offsets: Ints, tolerance: float) -> Ints:
    """Count pairs in each row offsets[i]:offsets[i + 1] of two columns.

    Returns (rows, 4): concordant minus discordant pairs, pairs tied in x, pairs tied in y, and pairs closer than
    `tolerance` but not equal in either, which the caller must decide.

    >>> counts(np.array([3.0, 2.0, 1.0]), np.array([3.0, 1.0, 1.0]), np.array([0, 3]), 1e-6).tolist()
    [[2, 0, 1, 0]]
    """
    out = np.zeros((len(offsets) - 1, 4), np.int64)
    (_kernel() if compiled() else _count)(x, y, offsets, tolerance, out)
    return out


def _count(x: Floats, y: Floats, offsets: Ints, tolerance: float, out: Ints) -> None:
    # without a branch inside, so that the compiler does several pairs at a time
    for row in range(len(offsets) - 1):
        a, b = x[offsets[row] : offsets[row + 1]], y[offsets[row] : offsets[row + 1]]
        n = len(a)
        up = down = tied_a = tied_b = close = 0
        for i in range(n):
            p, q = a[i], b[i]
            for j in range(i + 1, n):
                u, v = p - a[j], q - b[j]
                w = u * v  # cannot vanish where neither is close to 0, and where one is the row is not decided here
                up += int(w > 0)
                down += int(w < 0)
                tied_a += int(u == 0)
                tied_b += int(v == 0)
                close += int(abs(u) <= tolerance) + int(abs(v) <= tolerance)
        out[row, 0], out[row, 1], out[row, 2], out[row, 3] = up - down, tied_a, tied_b, close - tied_a - tied_b


@cache
def _kernel() -> Kernel:
    import numba

    compiled: Any = numba.njit(cache=True, nogil=True)(_count)
    return cast("Kernel", compiled)
