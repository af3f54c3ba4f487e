"""Test whether inputs resemble a reference, based on features that a model computes.

After MaSF (Heller et al. 2022), as Madsen et al. 2024 use it: empirical p-values of single features, combined by
Fisher, calibrated on reference inputs that fitted nothing. Tails of single features miss inputs that lie between two
classes, where masked inputs often are; so a second score is the distance to the nearest reference inputs, and the
smaller of the two p-values counts twice (Bonferroni). The p-value of one input holds for any dependence of the
features; that of all inputs together says whether too many of them are unusual (below 0.05), exactly.
"""

from __future__ import annotations

import math

import numpy as np

from regard.records import Floats

NEAREST = 5
LEVEL = 0.05
"""p-value below which an input counts as unusual."""


def feature_p_values(fitted: Floats, rows: Floats) -> Floats:
    """(rows, features) two-sided empirical p-values of each feature among the fitted rows.

    >>> feature_p_values(np.arange(9.0)[:, None], np.array([[4.0], [100.0]])).round(2).tolist()
    [[1.0], [0.2]]
    """
    n = len(fitted)
    p = np.empty(rows.shape)
    for j in range(rows.shape[1]):
        column = np.sort(fitted[:, j])
        below = np.searchsorted(column, rows[:, j], side="right")
        above = n - np.searchsorted(column, rows[:, j], side="left")
        p[:, j] = np.minimum(1.0, 2 * (1 + np.minimum(below, above)) / (n + 1))
    return p


def input_p_values(fitted: Floats, calibration: Floats, rows: Floats) -> tuple[Floats, float]:
    """(rows,) p-values of "drawn like the reference", and one for "all of them are".

    fitted, calibration: two disjoint parts of the reference, (inputs, features).

    >>> reference = np.linspace(0, 1, 80)[:, None]
    >>> each, together = input_p_values(reference[::2], reference[1::2], np.full((20, 1), 3.0))
    >>> bool((each < 0.05).all()), together < 0.001
    (True, True)
    """
    single, whole = [], []
    for score in (_tails, _distance):
        scores, own = (score(fitted, part) for part in (calibration, rows))
        single.append((1 + (scores[None] >= own[:, None] - 1e-9).sum(1)) / (1 + len(scores)))
        below = int((single[-1] <= LEVEL / 2).sum())
        whole.append(too_many(below, len(own), len(scores), level=LEVEL / 2))
    return np.minimum(1.0, 2 * np.min(single, axis=0)), min(1.0, 2 * min(whole))


def too_many(count: int, n: int, calibration: int, *, level: float) -> float:
    """p of at least `count` of `n` inputs below `level`, where they and the calibration inputs are drawn alike.

    Exact for p-values that share their calibration: the count is beta-binomial.

    >>> round(too_many(1, 1, 199, level=0.05), 4), too_many(0, 5, 199, level=0.05)
    (0.05, 1.0)
    """
    least = int(level * (calibration + 1) + 1e-9)
    if count <= 0 or least < 1:
        return 1.0
    rest = calibration + 1 - least
    logs = [
        _log_choose(n, k) + _log_beta(k + least, n - k + rest) - _log_beta(least, rest) for k in range(count, n + 1)
    ]
    return min(1.0, float(np.exp(logs).sum()))


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def _tails(fitted: Floats, rows: Floats) -> Floats:
    """(rows,) Fisher's sum over the features."""
    return np.asarray(-2 * np.log(feature_p_values(fitted, rows)).sum(1))


def _distance(fitted: Floats, rows: Floats) -> Floats:
    """(rows,) mean distance to the nearest fitted rows, features on one scale."""
    spread = fitted.std(0)
    scale = np.where(spread > 0, spread, 1.0)
    x, y = rows / scale, fitted / scale
    squares = (x**2).sum(1)[:, None] + (y**2).sum(1)[None] - 2 * x @ y.T
    nearest = np.sort(np.maximum(squares, 0.0), axis=1)[:, :NEAREST]
    return np.asarray(np.sqrt(nearest).mean(1))
