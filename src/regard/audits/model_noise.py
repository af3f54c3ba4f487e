"""Noise of a model: the spread of its answers to the same input."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from regard.records import Answers, Floats, Message

SEED = 20_240_613


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """Answer of a model: the objective, its probability, and the probabilities of all classes if there are any."""

    value: float
    probability: float
    distribution: Floats | None = None

    @staticmethod
    def of(answers: Answers, row: int = 0) -> Answer:
        table = answers.distribution
        spread = None if table is None else np.asarray(table[row], np.float64)
        return Answer(float(answers.value[row]), float(answers.probability[row]), spread)

    @staticmethod
    def unknown() -> Answer:
        return Answer(np.nan, np.nan)

    @property
    def known(self) -> bool:
        """Return whether all numbers are finite."""
        numbers = [self.value, self.probability, *(() if self.distribution is None else self.distribution)]
        return bool(np.isfinite(numbers).all())

    def apart(self, other: Answer) -> tuple[float, float]:
        """(difference of the objective, largest difference of any probability); NaN if one of them is unknown."""
        change = gap(self.probability, other.probability)
        if self.distribution is not None and other.distribution is not None:
            each = [gap(float(a), float(b)) for a, b in zip(self.distribution, other.distribution, strict=True)]
            change = float(np.max([change, *each]))  # NaN if any is
        return gap(self.value, other.value), change


def gap(one: float, other: float) -> float:
    """
    >>> gap(1.0, 0.5), gap(float("inf"), float("inf")), gap(float("nan"), 1.0)
    (0.5, 0.0, nan)
    """
    return 0.0 if one == other else abs(one - other)


def differs(one: Answer, other: Answer, tolerance: float) -> bool:
    """Return whether two answers differ by more than rounding; a number and a missing one differ."""
    if not (one.known and other.known):
        return one.known != other.known
    value, probability = one.apart(other)
    size = max(abs(one.value), abs(other.value))
    if one.distribution is not None:  # log-odds near 0 round by what they are the difference of
        size = max(1.0, size)
    return value > tolerance * size or (one.distribution is not None and probability > tolerance)


@dataclass(frozen=True, slots=True)
class Noise:
    """Noise of the objective and of its probability.

    Pooled standard deviation of the answers to one input, and the largest difference of two of them. unknown: answers
    that are not finite.
    """

    value_sd: float = 0.0
    value_largest: float = 0.0
    probability_sd: float = 0.0
    probability_largest: float = 0.0
    unknown: int = 0

    def in_words(self, examples: int, times: int) -> list[Message]:
        """
        >>> [message.key for message in Noise(0.5, 1.5, 0.1, 0.3).in_words(3, 8)]
        ['repeatability.noise']
        """
        parts = []
        if self.value_largest or self.probability_largest:
            numbers = {
                "value": self.value_largest,
                "value_sd": self.value_sd,
                "probability": self.probability_largest,
                "probability_sd": self.probability_sd,
            }
            # two digits here, for a number that is not finite is no JSON
            texts = {name: f"{number:.2g}" for name, number in numbers.items()}
            parts.append(Message.of("repeatability.noise", times=times, n=examples, **texts))
        if self.unknown:
            parts.append(Message.of("repeatability.unknown", n=examples * times, unknown=self.unknown))
        return parts


def measured(answers: Sequence[Sequence[Answer]]) -> Noise:
    """Measure the noise of the answers to each input; count those that are not finite, and skip them."""
    finite = [[a for a in some if a.known] for some in answers]
    apart = [a.apart(b) for some in finite for a, b in combinations(some, 2)]
    values, probabilities = ([pair[i] for pair in apart] for i in (0, 1))
    return Noise(
        _pooled([[a.value for a in some] for some in finite]),
        float(np.max(values, initial=0.0)),
        _pooled([[a.probability for a in some] for some in finite]),
        float(np.max(probabilities, initial=0.0)),
        sum(len(some) for some in answers) - sum(len(some) for some in finite),
    )


def _pooled(groups: Sequence[Sequence[float]]) -> float:
    """Root of the mean variance within groups of at least two."""
    variances = [0.0 if len(set(g)) == 1 else float(np.var(g, ddof=1)) for g in groups if len(g) > 1]
    return float(np.sqrt(np.mean(variances))) if variances else 0.0


@contextmanager
def seeded(seed: int = SEED) -> Iterator[None]:
    """Seed every global random generator inside the block, and restore them afterwards."""
    torch = sys.modules.get("torch")
    plain, legacy = random.getstate(), np.random.get_state()
    with ExitStack() as stack:
        if torch is not None:
            stack.enter_context(torch.random.fork_rng())
            torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed)
        try:
            yield
        finally:
            random.setstate(plain)
            np.random.set_state(legacy)
