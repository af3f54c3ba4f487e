"""Gain of each head: drop of the prediction without its top unit, beyond the drop without a random unit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regard.audits.conclusions.run_facts import RunFacts
from regard.measures.bounded_mean import cluster_interval
from regard.measures.intervals import ClusterSums, Interval

AUDITED = "attention"
"""The name of the audited attention among the heads."""


@dataclass(frozen=True, slots=True)
class HeadGain:
    name: str
    gain: Interval
    n: int
    clusters: int


def head_gains(facts: RunFacts) -> tuple[HeadGain, ...]:
    """Gains of the audited attention first, then of the heads from the best on; empty if there is only one head.

    The level is Bonferroni-corrected for all of them.
    """
    scores = {s.method: s for s in facts.findings if s.metric == "head_gain" and np.isfinite(s.values).any()}
    if len(scores) < 3:  # one head is the attention itself
        return ()
    level = 1 - 0.05 / len(scores)
    gains = []
    for name, score in scores.items():
        sums = ClusterSums.of(score.values, facts.clusters(score.ids))
        gains.append(HeadGain(name, cluster_interval(sums, level=level, scale="signed"), sums.n, len(sums.names)))
    return tuple(sorted(gains, key=lambda g: (g.name != AUDITED, -g.gain.estimate, g.name)))
