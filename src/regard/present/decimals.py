"""Decimals of a number, enough to distinguish the ends of its interval and its threshold."""

from __future__ import annotations

from math import ceil, floor, isfinite

LEAST, MOST = 2, 6
"""Maximum decimals; numbers closer than the last one count as equal."""


def decimals(*values: float | None, apart: float | None = None) -> int:
    """Return the fewest decimals at which different `values` do not all look alike, and none looks like `apart`.

    >>> decimals(0.041, 0.038, 0.044), decimals(0.43, 0.41, 0.46), decimals(0.0496, 0.04, 0.06, apart=0.05)
    (3, 2, 4)
    >>> decimals(0.0, 0.0, 0.0), decimals(0.1, 0.1 + 1e-12), decimals(0.05003, 0.05002, 0.06, apart=0.05)
    (2, 2, 5)
    """
    rounded = [round(v, MOST) for v in values if v is not None and isfinite(v)]
    for n in range(LEAST, MOST):
        texts = [f"{v:.{n}f}" for v in rounded]
        merged = max(rounded, default=0.0) > min(rounded, default=0.0) and len(set(texts)) == 1
        hidden = apart is not None and any(
            s == f"{apart:.{n}f}" and v != apart for s, v in zip(texts, rounded, strict=True)
        )
        if not merged and not hidden:
            return n
    return MOST


def at_least(share: float) -> str:
    """Round a lower end down to whole percent.

    >>> at_least(0.806), at_least(0.8), at_least(0.29)
    ('80%', '80%', '29%')
    """
    return f"{floor(round(100 * share, MOST))}%"


def at_most(share: float) -> str:
    """Round an upper end up to tenths of a percent.

    >>> at_most(0.02661), at_most(0.027)
    ('2.7%', '2.7%')
    """
    return f"{ceil(round(1000 * share, MOST)) / 10:.1f}%"
