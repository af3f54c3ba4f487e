"""Interval of a mean of per-example values: Wilson for yes or no, exponential weights of clusters otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from regard.measures.bounded_mean import cluster_interval
from regard.measures.intervals import ClusterSums, Interval, wilson


def mean_interval(
    values: ArrayLike,
    clusters: Sequence[str],
    *,
    kind: Literal["auto", "amount"] = "auto",
    level: float = 0.95,
) -> Interval:
    """The mean of the defined values with its interval; NaN is no value.

    Yes-or-no values get Wilson's interval, so that "all of them" is not certainty. Where several examples share a
    cluster (copies of one text, rows of one patient), each cluster counts as one draw: a little too wide, never too
    narrow. Other values have the interval of `bounded_mean`; with "amount", so do values that happen to be 0 or 1: an
    agreement that is 1 throughout is certain.

    >>> found = mean_interval([1, 1, 1, 1], ["a", "b", "c", "d"])
    >>> found.estimate, round(found.low, 2), found.high
    (1.0, 0.51, 1.0)
    """
    sums = ClusterSums.of(values, clusters)
    if not sums.n:
        return Interval(float("nan"), float("nan"), float("nan"), level)
    v = np.asarray(values, np.float64)
    if kind == "auto" and np.isin(v[np.isfinite(v)], (0.0, 1.0)).all():
        draws_made = len(sums.names)
        low, high = wilson(sums.mean * draws_made, draws_made, level=level)
        return Interval(sums.mean, float(low), float(high), level)
    same = kind == "amount" and bool((v[np.isfinite(v)] == 1.0).all())
    return cluster_interval(sums, level=level, scale="none" if same else "any")
