"""Divergences between distributions, for numpy or torch (with gradients).

Natural logarithms. A probability of exactly 0 contributes 0 and, in torch, a gradient of 0 (the true slope there
is infinite).
"""

from __future__ import annotations

from typing import Any, TypeAlias

from array_api_compat import array_namespace

Array: TypeAlias = Any
"""Numpy or torch array; results have the type of the arguments."""


def tvd(p: Array, q: Array, *, axis: int = -1) -> Array:
    """Total variation distance, half of sum |p - q|, in 0..1.

    >>> import numpy as np
    >>> float(tvd(np.array([0.9, 0.1]), np.array([0.4, 0.6])))
    0.5
    """
    xp = array_namespace(p, q)
    return 0.5 * xp.sum(xp.abs(p - q), axis=axis)


def kl(p: Array, q: Array, *, axis: int = -1) -> Array:
    """Kullback-Leibler divergence KL(p || q) in nats; infinite where q is 0 and p is not."""
    xp = array_namespace(p, q)
    one, zero = xp.ones_like(p), xp.zeros_like(p)
    inside, outside = (p > 0) & (q > 0), (p > 0) & (q <= 0)
    terms = xp.where(inside, p * xp.log(xp.where(inside, p, one) / xp.where(inside, q, one)), zero)
    return xp.sum(xp.where(outside, xp.full_like(p, float("inf")), terms), axis=axis)


def jsd(p: Array, q: Array, *, axis: int = -1) -> Array:
    """Jensen-Shannon divergence in nats, in 0..ln 2 (Jain & Wallace 2019 print it with this bound, 0.693).

    >>> import numpy as np
    >>> float(jsd(np.array([1.0, 0.0]), np.array([0.0, 1.0])).round(4))
    0.6931
    """
    m = 0.5 * (p + q)
    return 0.5 * kl(p, m, axis=axis) + 0.5 * kl(q, m, axis=axis)
