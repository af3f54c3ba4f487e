"""How many decimals a number needs, so that its interval has two ends and its margin stands apart from it."""

from __future__ import annotations

from math import isfinite

LEAST, MOST = 2, 4


def decimals(*values: float | None, apart: float | None = None) -> int:
    """The fewest that show the first and last of `values` as different, and none of them as `apart` unless it is.

    >>> decimals(0.041, 0.038, 0.044), decimals(0.43, 0.41, 0.46), decimals(0.0496, 0.04, 0.06, apart=0.05)
    (3, 2, 4)
    >>> decimals(0.0, 0.0, 0.0)
    2
    """
    known = [v for v in values if v is not None and isfinite(v)]
    for n in range(LEAST, MOST):
        shown = [f"{v:.{n}f}" for v in known]
        merged = max(known, default=0.0) > min(known, default=0.0) and len(set(shown)) == 1
        hidden = apart is not None and any(
            s == f"{apart:.{n}f}" and v != apart for s, v in zip(shown, known, strict=True)
        )
        if not merged and not hidden:
            return n
    return MOST
