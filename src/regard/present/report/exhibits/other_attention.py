"""The same prediction with another attention: the most distant one that the audit found in these data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.measures.divergence import jsd
from regard.measures.intervals import ClusterSums, Interval, bootstrap
from regard.present.run_reader import Material
from regard.records import Floats, Score

LARGEST = math.log(2)
"""Of the Jensen-Shannon divergence, in nats."""
FAR = LARGEST / 2
"""From here on another attention is called very different."""
READABLE = 30
"""Units up to which an example is preferred: a sentence that fits beside its twin."""
CAP = 0.05
"""How far the prediction may move (total variation), as the experiment has it."""
SAME = 0.02
"""How far the divergence of what is drawn may be from the one that was stored."""


@dataclass(frozen=True, slots=True, eq=False)
class OtherAttention:
    """n: texts that were searched; far: those with a very different attention; own, other: (units,) shares.

    divergence: its mean over the texts, 0 where none was found. shuffled: how far the prediction moves when the weights
    change places, on shuffled_n texts. exact: the search is exhaustive, so that "none" means none. example: None where
    none was found.
    """

    n: int
    far: int
    divergence: Interval
    exact: bool
    shuffled: Interval | None
    shuffled_n: int = 0
    example: dict[str, Any] | None = None
    own: Floats | None = None
    other: Floats | None = None
    distance: float = 0.0
    change: float = 0.0


def other_attention(material: Material) -> OtherAttention | None:
    """None where the audit did not search."""
    score = _first(material, "max_jsd")
    if score is None or "other" not in score.curves or not np.isfinite(score.values).any():
        return None
    there = np.isfinite(score.values)
    linear = _first(material, "linear")
    exact = linear is not None and bool(np.nanmin(linear.values) > 0.5)
    shuffled = _first(material, "permuted")
    found = OtherAttention(
        int(there.sum()), int((score.values[there] >= FAR).sum()), _mean(material, score), exact,
        _mean(material, shuffled) if shuffled is not None else None,
        0 if shuffled is None else int(np.isfinite(shuffled.values).sum()),
    )  # fmt: skip
    for i in _order(material, score):
        drawn = _drawn(material, score, i)
        if drawn is not None:
            own, other = drawn
            at = list(score.grid).index(CAP) if CAP in score.grid else 0
            change = float(np.asarray(score.curves["change"])[i, at])
            example = material.by_id[score.ids[i]]
            return OtherAttention(
                found.n, found.far, found.divergence, exact, found.shuffled, found.shuffled_n, example, own,
                other, float(score.values[i]), change,
            )  # fmt: skip
    return found


def _order(material: Material, score: Score) -> list[int]:
    """The most distant first, short examples before long ones."""
    able = [i for i, name in enumerate(score.ids) if name in material.by_id and score.values[i] > 1e-6]
    size = {i: len(material.by_id[score.ids[i]]["units"]["names"]) for i in able}
    return sorted(able, key=lambda i: (size[i] > READABLE, -round(float(score.values[i]), 6), i))[:20]


def _drawn(material: Material, score: Score, i: int) -> tuple[Floats, Floats] | None:
    """Both attentions; None where the one that is shown elsewhere is not the one that was audited."""
    if "attention" not in material.methods:
        return None
    own = material.relevance_of("attention", score.ids[i])
    unit, share, second, rest = np.asarray(score.curves["other"])[i]
    if own is None or unit < 0 or not own.sum() > 0:
        return None
    own = own / own.sum()
    other = np.zeros_like(own)
    other[int(unit)] = share
    if second >= 0:
        other[int(second)] = rest
    agrees = abs(float(jsd(other, own)) - float(score.values[i])) <= SAME
    return (own, other) if agrees else None


def _first(material: Material, metric: str) -> Score | None:
    return next((s for s in material.findings if s.metric == metric and s.method == "attention"), None)


def _mean(material: Material, score: Score) -> Interval:
    clusters = [material.cluster(name) for name in score.ids]
    return bootstrap(ClusterSums.of(score.values, clusters), seed=int(material.manifest.get("seed", 0)))
