"""Loss of the prediction without the words of attention, beside the loss without random words.

The numbers that choose the wording of Q2.fails; the answer itself does not depend on them.

    not shown     the 95 % interval of the difference (paired, clustered) holds 0 or less
    little more   it lies above 0, the difference is below .05, and the loss is below twice that of random words
    more          it lies above 0, and one of these two is reached
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import numpy as np

from regard.judge.evidence import Evidence
from regard.judge.margins import FOUND
from regard.judge.mean_tests import Mean
from regard.records import Bools, Floats

Beyond = Literal["not shown", "little more", "more"]
ORDER: Final[tuple[Beyond, ...]] = ("not shown", "little more", "more")
SEVERAL: Final = 2.0
"""Times the loss without random words from which on "little more" is no word for it."""
CONFIDENCE: Final = 0.95


def beyond_random(evidence: Evidence, inside: Bools, operator: str, sizes: Sequence[int]) -> Beyond:
    """Compare the loss without the first words of attention with that without random words, for some examples."""
    size_index = [evidence.sizes.index(k) for k in sizes if k in evidence.sizes]
    random_rankings = [r for r, o in evidence.pointing if o == operator and r.startswith("random")]
    attention_loss = _loss(evidence, "attention", operator, size_index)[inside]
    chance = np.mean([_loss(evidence, r, operator, size_index) for r in random_rankings], axis=0)[inside]
    apart = Mean.of(attention_loss - chance, np.asarray(evidence.clusters, np.str_)[inside])
    return compared(apart, float(np.nanmean(chance)) if np.isfinite(chance).any() else float("nan"))


def compared(apart: Mean, chance: float) -> Beyond:
    """apart: the loss beyond that of random words; chance: the latter.

    >>> compared(Mean(0.226, 0.02, 80, 80), 0.087), compared(Mean(0.02, 0.005, 80, 80), 0.087)
    ('more', 'little more')
    >>> compared(Mean(0.02, 0.02, 80, 80), 0.01)
    'not shown'
    """
    low, _ = apart.interval(CONFIDENCE)
    if not low > 0:
        return "not shown"
    several = chance + apart.estimate >= SEVERAL * chance
    return "more" if apart.estimate >= FOUND or several else "little more"


def _loss(evidence: Evidence, ranking: str, operator: str, chosen: Sequence[int]) -> Floats:
    """(examples,) mean over the sizes that fit the example; NaN where none does."""
    lost = evidence.probability[:, None] - evidence.pointing[ranking, operator].removed[:, chosen]
    defined = ~np.isnan(lost)
    total = np.where(defined, lost, 0.0).sum(-1)
    return np.where(defined.any(-1), total / np.maximum(defined.sum(-1), 1), np.nan)
