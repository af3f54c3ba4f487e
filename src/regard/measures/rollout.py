"""Attention rollout algebra (Abnar & Zuidema 2020). Numpy or torch (with gradients)."""

from __future__ import annotations

from collections.abc import Sequence

from array_api_compat import array_namespace, device

from regard.errors import phrase
from regard.measures.divergence import Array


def with_residual(matrix: Array, residual: float) -> Array:
    """(..., n, n): (1 - residual) A + residual I, rows divided by their sums; a zero row stays zero.

    >>> import numpy as np
    >>> with_residual(np.array([[0.0, 1.0], [1.0, 0.0]]), 0.25).tolist()
    [[0.25, 0.75], [0.75, 0.25]]
    """
    if not 0 <= residual <= 1:
        raise ValueError(phrase("errors.measures.residual_share", residual=residual))
    xp = array_namespace(matrix)
    mixed = (1 - residual) * matrix + residual * xp.eye(matrix.shape[-1], dtype=matrix.dtype, device=device(matrix))
    total = xp.sum(mixed, axis=-1, keepdims=True)
    return mixed / xp.where(total > 0, total, xp.ones_like(total))


def rollout(matrices: Sequence[Array], *, residual: float = 0.5) -> Array:
    """(..., n, n): the product, last layer leftmost, of row-normalised (1 - residual) A + residual I.

    `matrices` holds one (..., n, n) attention per layer, first layer first. Rows that sum to less than 1 (mass that
    went to a sink) are normalised; a row of zeros without residual stays zero. Rows of the result sum to 1.

    >>> import numpy as np
    >>> a = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> rollout([a, a]).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    if not matrices:
        raise ValueError(phrase("errors.measures.at_least_one_matrix"))
    out: Array = None
    for a in matrices:
        if a.shape[-1] != a.shape[-2] or (out is not None and a.shape[-1] != out.shape[-1]):
            shapes = str([tuple(m.shape) for m in matrices])
            raise ValueError(phrase("errors.measures.square_matrices", shapes=shapes))
        step = with_residual(a, residual)
        out = step if out is None else step @ out
    return out
