"""Verdicts about methods that rank sources, from exact effects of deleting each source. Thresholds are fixed here.

A prompt *uses* its sources if deleting the best one costs `DELTA` and deleting all of them does too. On these prompts
a method *hits* if its first source has at least `HALF` of the best exact effect. Shares have exact (Clopper-Pearson)
intervals; the level of every look is that of alpha spending, so that all looks together err at most at `LEVEL`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from regard.measures.alpha_spending import fractions_now, level_now
from regard.measures.intervals import clopper_pearson
from regard.records import Floats, Json

DELTA: Final = 1.0
"""Nats that deleting a source must cost for the answer to depend on it."""
HALF: Final = 0.5
"""Share of the best exact effect that the first source of a right method has."""
MOSTLY: Final = 0.5
"""A model that uses its sources in fewer prompts does not use them."""
GOOD: Final = 0.7
"""Share of hits from which on a method may be used for citations."""
USE_LEVEL: Final = 0.025
LEVEL: Final = 0.05
"""One-sided levels of the two verdicts, over all looks."""
FEWEST: Final = 5
"""Prompts that use their sources, below which no method is judged."""
MARGINS: Final[dict[str, Json]] = {
    "delta": DELTA,
    "half": HALF,
    "mostly": MOSTLY,
    "good": GOOD,
    "use_level": USE_LEVEL,
    "level": LEVEL,
    "fewest": FEWEST,
}
Answer = Literal["yes", "no", "not_settled"]


@dataclass(frozen=True, slots=True)
class Share:
    """k of n, with the interval that decides at this look."""

    k: int
    n: int
    low: float
    high: float

    @staticmethod
    def of(hits: Sequence[bool], level: float) -> Share:
        """level: one-sided."""
        low, high = clopper_pearson(sum(hits), len(hits), level=1 - 2 * level)
        return Share(sum(map(bool, hits)), len(hits), low, high)

    @property
    def estimate(self) -> float:
        return self.k / self.n if self.n else float("nan")


@dataclass(frozen=True, slots=True)
class UseVerdict:
    """Does the model use the sources?"""

    answer: Answer
    share: Share


@dataclass(frozen=True, slots=True)
class MethodVerdict:
    """Does the first source of a method carry the answer?"""

    answer: Answer
    share: Share


@dataclass(frozen=True, slots=True)
class ExactEffects:
    """Drops in nats of one answer: of deleting each source (sources,), and of deleting all of them."""

    alone: Floats
    whole: float

    @property
    def used(self) -> bool:
        return bool(self.alone.max() >= DELTA and self.whole >= DELTA)

    def hit(self, scores: Floats) -> bool:
        """Return whether the first source of these scores has half of the best effect."""
        return bool(self.alone[int(np.argmax(scores))] >= HALF * self.alone.max())


def use_verdict(prompts: Sequence[ExactEffects], looks: Sequence[int]) -> UseVerdict:
    """Return whether the model uses the sources in most prompts.

    looks: planned cumulative numbers of prompts; the last look is at `len(prompts)`.
    """
    share = Share.of([prompt.used for prompt in prompts], _level(USE_LEVEL, looks, len(prompts)))
    return UseVerdict("no" if share.high < MOSTLY else "yes" if share.low >= MOSTLY else "not_settled", share)


def method_verdict(prompts: Sequence[ExactEffects], scores: Sequence[Floats], looks: Sequence[int]) -> MethodVerdict:
    """Judge one method on the prompts that use their sources. scores: (sources,) for every prompt."""
    hits = [prompt.hit(own) for prompt, own in zip(prompts, scores, strict=True) if prompt.used]
    share = Share.of(hits, _level(LEVEL, looks, len(prompts)))
    if share.n < FEWEST:
        return MethodVerdict("not_settled", share)
    return MethodVerdict("yes" if share.low >= GOOD else "no" if share.high < GOOD else "not_settled", share)


def settled(use: UseVerdict, methods: Mapping[str, MethodVerdict], awaited: Sequence[str]) -> bool:
    """Return whether more prompts can change nothing: the sources are not used, or every awaited method is judged."""
    return use.answer == "no" or all(methods[name].answer != "not_settled" for name in awaited)


def planned_looks(first: int, most: int) -> tuple[int, ...]:
    """Return the cumulative numbers of prompts at which to judge: `first`, then 1.5 times the last, up to `most`.

    >>> planned_looks(16, 60), planned_looks(16, 10)
    ((16, 24, 36, 54, 60), (10,))
    """
    looks = [min(first, most)]
    while looks[-1] < most:
        looks.append(min(most, looks[-1] + max(4, looks[-1] // 2)))
    return tuple(looks)


def _level(total: float, looks: Sequence[int], n: int) -> float:
    return level_now(total, fractions_now(looks, n))
