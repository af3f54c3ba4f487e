"""Do the heads that attend to copied tokens do the copying? Knock-out of the best ones against random heads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.measures.intervals import ClusterSums, bootstrap
from regard.measures.keyed_random import keyed_rng
from regard.models.ask.repeated_tokens import copied_tokens
from regard.protocols import Encoded, Model, Target
from regard.records import Floats
from regard.surveys.heads.findings import Measured, RetrievalCheck
from regard.surveys.heads.importance import batches
from regard.surveys.heads.naming import Head
from regard.surveys.heads.removal import masks
from regard.surveys.heads.roles import HeadScore

SHARE = 0.03
"""Share of all heads to knock out, at least one head."""
DRAWS = 5
"""Number of random sets of as many other heads."""


def retrieval_check(
    model: Model, template: Encoded, heads: Sequence[Head], scores: Sequence[HeadScore], *, n: int, seed: int
) -> RetrievalCheck | None:
    """Knock out the heads of the largest retrieval scores, and random ones; None if nothing can be copied."""
    best_scores = {score.head: score for score in scores if score.score == "retrieval" and np.isfinite(score.estimate)}
    ranked = sorted(
        (head for head in heads if head.name in best_scores), key=lambda head: -best_scores[head.name].estimate
    )
    probes = copied_tokens(model, template, n=n, seed=seed + 1)
    count = max(1, round(SHARE * len(ranked)))
    if not probes or len(ranked) < 2 * count:
        return None
    top, others = ranked[:count], ranked[count:]
    items, targets = [item for item, _ in probes], [target for _, target in probes]
    whole = _values(model, items, targets, ())
    without = whole - _values(model, items, targets, top)
    random = np.zeros(len(items))
    for draw in range(DRAWS):
        drawn_heads = keyed_rng(seed, "random retrieval heads", draw).permutation(len(others))[:count]
        random += (whole - _values(model, items, targets, [others[i] for i in drawn_heads])) / DRAWS
    return RetrievalCheck(
        heads=tuple(head.name for head in top),
        scores=tuple(best_scores[head.name].estimate for head in top),
        baseline=float(np.mean([score.baseline for score in best_scores.values()])),
        of=len(ranked),
        draws=DRAWS,
        whole=_mean(whole, seed),
        drop_top=_mean(without, seed),
        drop_random=_mean(random, seed),
        excess=_mean(without - random, seed),
    )


def _values(model: Model, items: Sequence[Encoded], targets: Sequence[Target], heads: Sequence[Head]) -> Floats:
    value = np.zeros(len(items))
    for batch in batches(items):
        about = [targets[i] for i in batch]
        value[batch] = model.forward([items[i] for i in batch], about, masks(heads)).value
    return value


def _mean(values: Floats, seed: int) -> Measured:
    interval = bootstrap(ClusterSums.of(values, [str(i) for i in range(len(values))]), seed=seed)
    return Measured(interval.estimate, interval.low, interval.high, len(values))
