"""Per-example pointing: whether removing the marked units matters to this prediction.

    support(p) = max(p - neutral level, 0)
    drop of a ranking at size k, by one operator = support(p) - support(p without its first k units)
    A_k = drop of attention - mean drop of the random rankings, median over the operators
    B_k = largest drop of any ranking (attention among them) - mean drop of the random rankings, median likewise
    share = the largest A_k / B_k, clipped to 0..1, over the sizes with B_k >= SLIGHT

The share is undefined (NaN) where no size has B_k >= FOUND by two operators: nothing has an effect on that example, so
there is nothing to point at. One operator alone may bring evidence in with the units that it puts in place of others.
The most favourable size counts: a map that marks the decisive unit second is not called wrong. Only removals count:
units that keep a prediction when they stand alone need not be the ones that it rests on here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from regard.judge.evidence import Evidence
from regard.judge.gain_over_random import ATTENTION, RANDOM, others
from regard.judge.margins import FOUND, GOOD, POOR
from regard.records import Bools, Floats

Mark = Literal["right", "partly", "wrong", "undefined"]
SLIGHT = 0.01
"""Effect (in probability) from which a size may speak for the map; FOUND is the effect from which it may be wrong."""


@dataclass(frozen=True, slots=True, eq=False)
class ExampleTrust:
    """Trust per example; all NaN where it was not measured. share: in 0..1, NaN where nothing has an effect.

    marked, chance, best: how far the prediction falls without the first units of attention, of random rankings and of
    the best ranking for this example, at the size that decides the share.
    """

    share: Floats
    marked: Floats
    chance: Floats
    best: Floats

    @property
    def measured(self) -> Bools:
        """Mask of the examples whose units were removed at all."""
        return np.isfinite(self.best)

    @property
    def right(self) -> Bools:
        return np.asarray(self.share >= GOOD)

    @property
    def wrong(self) -> Bools:
        return np.asarray(self.share < POOR)

    @property
    def defined(self) -> Bools:
        return np.isfinite(self.share)

    @property
    def marks(self) -> tuple[Mark, ...]:
        return tuple(mark_of(float(share)) for share in self.share)


def mark_of(share: float) -> Mark:
    """
    >>> [mark_of(share) for share in (1.0, 0.5, 0.0, float("nan"))]
    ['right', 'partly', 'wrong', 'undefined']
    """
    if np.isnan(share):
        return "undefined"
    return "right" if share >= GOOD else "wrong" if share < POOR else "partly"


@lru_cache(maxsize=4)
def example_trust(evidence: Evidence) -> ExampleTrust | None:
    """Return None where no rankings were compared."""
    operators = [o for o in evidence.operators if (ATTENTION, o) in evidence.pointing and others(evidence, o)]
    operators = [o for o in operators if _randoms(evidence, o)]
    if not operators:
        return None
    drops = [np.stack(tables) for tables in zip(*(_drops(evidence, o) for o in operators), strict=True)]
    by_operator = drops[1] - drops[2]
    marked, best, chance = (np.median(table, axis=0) for table in drops)
    own, most = np.median(drops[0] - drops[2], axis=0), np.median(by_operator, axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.where(most >= SLIGHT, np.clip(own / most, 0.0, 1.0), -1.0)
        defined = ((by_operator >= FOUND).sum(0) >= min(2, len(operators))).any(-1)
    column = np.argmax(shares, axis=-1)[:, None]
    # where nothing has an effect, the largest effect that was found is what can be shown
    column = np.where(defined[:, None], column, np.argmax(np.nan_to_num(most, nan=-np.inf), axis=-1)[:, None])
    at = [np.take_along_axis(table, column, axis=-1)[:, 0] for table in (shares, marked, chance, best)]
    return ExampleTrust(np.where(defined, at[0], np.nan), *at[1:])


def _randoms(evidence: Evidence, operator: str) -> list[str]:
    return [r for r, o in evidence.pointing if o == operator and r.startswith(RANDOM)]


def _drops(evidence: Evidence, operator: str) -> tuple[Floats, Floats, Floats]:
    """(examples, sizes) drops of attention, of the best ranking on each example, and of the mean random one."""
    level = evidence.neutral[:, None]
    support = np.maximum(evidence.probability[:, None] - level, 0.0)

    def drop(ranking: str) -> Floats:
        return np.asarray(support - np.maximum(evidence.pointing[ranking, operator].removed - level, 0.0))

    marked = drop(ATTENTION)
    best = np.max([marked, *(drop(ranking) for ranking in others(evidence, operator))], axis=0)
    return marked, best, np.mean([drop(ranking) for ranking in _randoms(evidence, operator)], axis=0)
