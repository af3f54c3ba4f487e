"""LASSO by coordinate descent, for a handful of columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from regard.errors import phrase

Floats = NDArray[np.float64]


def lasso(x: Floats, y: Floats, *, alpha: float, tolerance: float = 1e-10, rounds: int = 10_000) -> Floats:
    """Return (columns,) the weights w that minimise |y - b - Zw|^2 / 2n + alpha |w|_1, in units of the columns of x.

    Z is x with every column shifted and scaled to mean 0 and standard deviation 1, so that the penalty treats all
    columns alike; b is free. A constant column has weight 0.

    >>> x = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> lasso(x, 3 * x[:, 0], alpha=0.0).round(6).tolist()
    [3.0, 0.0]
    >>> lasso(x, 3 * x[:, 0], alpha=0.5).round(6).tolist()  # 3 - 0.5 / sd
    [2.0, 0.0]
    """
    if x.ndim != 2 or y.shape != (len(x),) or alpha < 0:
        shapes = f"{x.shape}, {y.shape}, {alpha}"
        raise ValueError(phrase("errors.measures.rows_columns_alpha", shapes=shapes))
    n = len(x)
    scale = x.std(0)
    varies = scale > 0
    z = (x[:, varies] - x[:, varies].mean(0)) / scale[varies]
    gram, correlation = z.T @ z / n, z.T @ (y - y.mean()) / n
    w = np.zeros(z.shape[1])
    for _ in range(rounds):
        largest = 0.0
        for j in range(len(w)):
            target = correlation[j] - gram[j] @ w + w[j]  # gram[j, j] = 1
            new = np.sign(target) * max(abs(target) - alpha, 0.0)
            largest = max(largest, abs(new - w[j]))
            w[j] = new
        if largest <= tolerance:
            break
    weights = np.zeros(x.shape[1])
    weights[varies] = w / scale[varies]
    return weights
