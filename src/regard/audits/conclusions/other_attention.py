"""The same prediction with another attention: the most distant one that the audit found in these data."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from regard.audits.conclusions.run_facts import RunFacts
from regard.measures.divergence import jsd
from regard.measures.intervals import Interval
from regard.records import Floats, Score

LARGEST = math.log(2)
"""Upper bound of the Jensen-Shannon divergence, in nats."""
FAR = LARGEST / 2
"""Divergence from which another attention counts as very different."""
READABLE = 30
"""Maximum number of units of a preferred example: a sentence that fits beside its twin."""
CAP = 0.05
"""Permitted change of the prediction (total variation), as in the experiment."""
SAME = 0.02
"""Tolerance between the divergence of the drawn map and the stored one."""


@dataclass(frozen=True, slots=True)
class OtherAttention:
    """Most distant attention with the same prediction.

    n: searched texts; far: texts with a very different attention; own, other: (units,) shares. divergence: mean over
    the texts, 0 if none was found. shuffled: change of the prediction when the weights are shuffled, on shuffled_n
    texts. exact: the search is exhaustive, so that "none" means none. example: id of the example to show, None if none
    was found.
    """

    n: int
    far: int
    exact: bool
    divergence: Interval
    shuffled: Interval | None
    shuffled_n: int = 0
    example: str | None = None
    distance: float = 0.0
    change: float = 0.0
    own: tuple[float, ...] | None = None
    other: tuple[float, ...] | None = None


def other_attention(facts: RunFacts) -> OtherAttention | None:
    """Summarize the search; None if the audit did not search."""
    score = _first(facts, "max_jsd")
    if score is None or "other" not in score.curves or not np.isfinite(score.values).any():
        return None
    defined = np.isfinite(score.values)
    linear, shuffled = _first(facts, "linear"), _first(facts, "permuted")
    result = OtherAttention(
        n=int(defined.sum()),
        far=int((score.values[defined] >= FAR).sum()),
        divergence=facts.mean(score),
        exact=linear is not None and bool(np.nanmin(linear.values) > 0.5),
        shuffled=facts.mean(shuffled) if shuffled is not None else None,
        shuffled_n=0 if shuffled is None else int(np.isfinite(shuffled.values).sum()),
    )
    for i in _order(facts, score):
        maps = _maps(facts, score, i)
        if maps is not None:
            own, other = maps
            at = list(score.grid).index(CAP) if CAP in score.grid else 0
            return replace(
                result,
                example=score.ids[i],
                own=tuple(own.tolist()),
                other=tuple(other.tolist()),
                distance=float(score.values[i]),
                change=float(np.asarray(score.curves["change"])[i, at]),
            )
    return result


def _order(facts: RunFacts, score: Score) -> list[int]:
    """The most distant first, short examples before long ones."""
    able = [i for i, name in enumerate(score.ids) if name in facts.by_id and score.values[i] > 1e-6]
    size = {i: len(facts.by_id[score.ids[i]]["units"]["names"]) for i in able}
    return sorted(able, key=lambda i: (size[i] > READABLE, -round(float(score.values[i]), 6), i))[:20]


def _maps(facts: RunFacts, score: Score, i: int) -> tuple[Floats, Floats] | None:
    """Return both attentions; None if the attention shown elsewhere is not the audited one."""
    if "attention" not in facts.methods:
        return None
    own = facts.relevance_of("attention", score.ids[i])
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


def _first(facts: RunFacts, metric: str) -> Score | None:
    return next((s for s in facts.findings if s.metric == metric and s.method == "attention"), None)
