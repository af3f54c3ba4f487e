"""Entropy of a distribution, for numpy or torch (with gradients)."""

from __future__ import annotations

from array_api_compat import array_namespace

from regard.measures.divergence import Array


def entropy(p: Array, *, axis: int = -1) -> Array:
    """Shannon entropy in nats, in 0..ln n; a probability of 0 contributes 0.

    >>> import numpy as np
    >>> float(entropy(np.full(4, 0.25)).round(4))
    1.3863
    """
    xp = array_namespace(p)
    inside = p > 0
    return -xp.sum(xp.where(inside, p * xp.log(xp.where(inside, p, xp.ones_like(p))), xp.zeros_like(p)), axis=axis)


def effective_number(p: Array, *, axis: int = -1) -> Array:
    """exp(entropy): effective number of units that share the mass, in 1..n.

    >>> import numpy as np
    >>> float(effective_number(np.array([0.5, 0.5, 0.0, 0.0])).round(4))
    2.0
    """
    return array_namespace(p).exp(entropy(p, axis=axis))
