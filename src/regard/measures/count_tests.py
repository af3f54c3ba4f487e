"""Exact one-sided tests of counts with three results: shown, refuted, or too few examples to say.

A claim is refuted only by evidence against it; a claim that merely was not shown stays open, with the number of
examples that would decide it if the shares stayed as observed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Literal

from regard.measures.intervals import binomial_tail, clopper_pearson

Outcome = Literal["passed", "failed", "open"]
ALPHA = 0.05
MARGIN = 0.1
"""Largest difference of two shares that counts as none."""
NEARLY_ALL = 0.95
LIMIT = 20_000
"""Largest number of examples worth naming as needed."""


@dataclass(frozen=True, slots=True)
class CountTest:
    """Outcome of a test on n examples. needed: examples that would decide an open one; None if decided or hopeless."""

    outcome: Outcome
    n: int
    needed: int | None = None


def stronger(only_first: int, only_second: int, n: int, *, alpha: float = ALPHA) -> CountTest:
    """Test whether the first of two paired searches succeeds more often.

    Passed: the sign test on the examples where they differ has p < alpha. Failed: the first succeeds on less than
    MARGIN more of the examples, by an exact upper bound. Each error has a probability of at most alpha.

    >>> stronger(5, 0, 6), stronger(4, 0, 6).outcome  # p = 1/32 and 1/16
    (CountTest(outcome='passed', n=6, needed=None), 'open')
    >>> stronger(0, 0, 36).outcome, stronger(0, 0, 35)  # the bound of no success in 36 is 1 - .025 ** (1 / 36)
    ('failed', CountTest(outcome='open', n=35, needed=36))
    """

    def decide(first: int, second: int, total: int) -> Outcome:
        if _more(first, second, alpha):
            return "passed"
        return "failed" if _excess(first, second, total, alpha) < MARGIN else "open"

    return _tested(decide, (only_first, only_second), n)


def no_weaker(only_first: int, only_second: int, n: int, *, alpha: float = ALPHA) -> CountTest:
    """Test whether the first of two paired searches succeeds at least as often, up to MARGIN.

    Failed: the second succeeds more often by the sign test. Passed: by less than MARGIN, by an exact upper bound.

    >>> [no_weaker(0, k, 100).outcome for k in (0, 4, 5)]
    ['passed', 'passed', 'failed']
    >>> no_weaker(0, 0, 6)
    CountTest(outcome='open', n=6, needed=36)
    """

    def decide(first: int, second: int, total: int) -> Outcome:
        if _more(second, first, alpha):
            return "failed"
        return "passed" if _excess(second, first, total, alpha) < MARGIN else "open"

    return _tested(decide, (only_first, only_second), n)


def nearly_all(successes: int, n: int, *, share: float = NEARLY_ALL, alpha: float = ALPHA) -> CountTest:
    """Test whether a share is above `share`: exact, in both directions.

    >>> nearly_all(59, 59).outcome, nearly_all(58, 58)  # .95 ** 59 = .0485
    ('passed', CountTest(outcome='open', n=58, needed=59))
    >>> nearly_all(20, 24).outcome, nearly_all(21, 24).outcome  # tails .0298 and .1159
    ('failed', 'open')
    """

    def decide(met: int, missed: int, total: int) -> Outcome:
        if total and binomial_tail(met, total, share) < alpha:
            return "passed"
        return "failed" if total and binomial_tail(missed, total, 1 - share) < alpha else "open"

    return _tested(decide, (successes, n - successes), n)


def joint(tests: list[CountTest]) -> CountTest:
    """Combine tests that must all pass: failed if one failed, open if one is open, else passed.

    n is the smallest of them, `needed` the largest number that the open ones need.
    """
    outcomes = {test.outcome for test in tests}
    outcome: Outcome = "failed" if "failed" in outcomes else "open" if "open" in outcomes else "passed"
    needs = [test.needed for test in tests if test.outcome == "open"]
    counts = [need for need in needs if need is not None]
    decidable = outcome == "open" and len(counts) == len(needs)
    return CountTest(outcome, min((test.n for test in tests), default=0), max(counts) if decidable else None)


def _more(first: int, second: int, alpha: float) -> bool:
    return first > second and binomial_tail(first, first + second, 0.5) < alpha


@cache
def _excess(first: int, second: int, n: int, alpha: float) -> float:
    """Upper bound of the share of `first` minus the share of `second`: an exact bound of each, at alpha / 2."""
    if not n:
        return 1.0
    level = 1 - alpha
    return clopper_pearson(first, n, level=level)[1] - clopper_pearson(second, n, level=level)[0]


def _tested(decide: Callable[[int, int, int], Outcome], counts: tuple[int, int], n: int) -> CountTest:
    outcome = decide(*counts, n)
    if outcome != "open" or not n:
        return CountTest(outcome, n)

    def decided(total: int) -> bool:
        first, second = (round(count * total / n) for count in counts)
        return decide(first, second, total) != "open"

    low, high = n, n + 1
    while not decided(high):
        if high >= LIMIT:
            return CountTest(outcome, n)
        low, high = high, min(2 * high, LIMIT)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if decided(middle) else (middle, high)
    return CountTest(outcome, n, high)
