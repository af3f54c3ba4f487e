"""Order-independent sums: every float64 is a whole number of 2**-1074."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from regard.measures.intervals import ClusterSums

BUCKETS = 1024
"""Number of groups of independent draws: enough for an interval, few enough to store for every number."""
_UNIT = 1074


def bucket_of(cluster: str) -> int:
    """The group of a cluster, the same on every machine."""
    return int.from_bytes(hashlib.blake2b(cluster.encode("utf-8", "surrogatepass"), digest_size=4).digest()) % BUCKETS


@dataclass
class BucketSums:
    """Exact sums and counts of values whose clusters are hashed into BUCKETS groups.

    Memory does not grow with the number of values. A group of whole clusters is an independent draw as a cluster is,
    so intervals over the groups hold; with many clusters in each they are those of the clusters.

    >>> sums = BucketSums()
    >>> sums.add([1e16, 1.0, -1e16, float("nan")], map(bucket_of, "abcd"))
    >>> sums.mean, sums.n, sums.undefined
    (0.3333333333333333, 3, 1)
    """

    totals: dict[int, int] = field(default_factory=dict)
    counts: dict[int, int] = field(default_factory=dict)
    undefined: int = 0

    def add(self, values: Iterable[float], buckets: Iterable[int]) -> None:
        for value, bucket in zip(values, buckets, strict=True):
            number = float(value)
            if not math.isfinite(number):
                self.undefined += 1
                continue
            top, bottom = number.as_integer_ratio()
            self.totals[bucket] = self.totals.get(bucket, 0) + (top << (_UNIT - bottom.bit_length() + 1))
            self.counts[bucket] = self.counts.get(bucket, 0) + 1

    @property
    def n(self) -> int:
        return sum(self.counts.values())

    @property
    def mean(self) -> float:
        return float(Fraction(sum(self.totals.values()), self.n << _UNIT)) if self.n else float("nan")

    def sums(self) -> ClusterSums:
        """The groups as clusters, each sum rounded once."""
        buckets = sorted(self.counts)
        totals = np.array([float(Fraction(self.totals[b], 1 << _UNIT)) for b in buckets], np.float64)
        counts = np.array([self.counts[b] for b in buckets], np.int64)
        return ClusterSums(tuple(f"{b:04}" for b in buckets), totals, counts, self.undefined)
