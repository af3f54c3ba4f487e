"""Error rates of citations, as `benchmarks.citations` measured them with the thresholds of `citation_rule`."""

from __future__ import annotations

from dataclasses import dataclass

from regard.measures.intervals import wilson


@dataclass(frozen=True, slots=True)
class Share:
    """k of n, with the Wilson interval of the share at 95 %."""

    k: int
    n: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Reliability:
    """Errors on planted English prompts whose truth is known.

    false: sentences that come from no source, and were cited. wrong: citations that name a source the sentence does not
    come from.
    """

    model: str
    prompts: int
    false: Share
    wrong: Share


def share(k: int, n: int) -> Share:
    """Return k of n with its interval.

    >>> share(0, 180).high
    0.021
    """
    low, high = wilson(k, n)
    return Share(k, n, round(float(low), 3), round(float(high), 3))


MEASURED = Reliability(model="SmolLM2-135M-Instruct", prompts=354, false=share(0, 210), wrong=share(3, 228))
