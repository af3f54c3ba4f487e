"""The decision about a sentence as a function of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from regard.surveys.citation_rule import DECISIVE, STRONG, SUFFICIENT, TooCostly, decision
from regard.surveys.cited_answer import Alone, Pair


@dataclass
class Numbers:
    """Measurements that are known, and the questions that were asked."""

    drops: Sequence[float]
    both: float = 0.0
    gain: float = 5.0
    probability: float = 0.5
    word: float = 0.8
    questions: list[str] = field(default_factory=list)

    def exact(self, source: int) -> float:
        self.questions.append(f"exact {source}")
        return self.drops[source]

    def together(self, one: int, other: int) -> float:
        self.questions.append(f"together {one} {other}")
        return 3.0 + self.both

    def pair(self, one: int, other: int) -> Pair:
        self.questions.append(f"pair {one} {other}")
        return Pair(effect=3.0 + self.both, exact=self.both)

    def alone(self, sources: Sequence[int]) -> Alone:
        self.questions.append(f"alone {list(sources)}")
        return Alone(gain=self.gain, probability=self.probability, word=self.word)


def outcome(effects: Sequence[float | None], numbers: Numbers, whole: float = 3.0) -> tuple[str, tuple[int, ...]]:
    result = decision(effects, whole, numbers, delta=1.0, gain=2.0, check=2)
    return result.status, result.cited


@pytest.mark.parametrize(
    ("effects", "numbers", "whole", "expected"),
    [
        ([0.2, 3.0, 0.1], Numbers([0, 2.5, 0]), 3.0, ("cite", (1,))),
        ([0.2, 3.0, 0.1], Numbers([0, 2.5, 0]), -2.0, ("cite", (1,))),  # rivals vanish too when all are deleted
        ([0.2, 3.0, 0.1], Numbers([0, 2.5, 0], probability=0.9 * SUFFICIENT), 3.0, ("unclear", ())),
        ([0.2, 3.0, 0.1], Numbers([0, 2.5, 0], gain=1.9), 3.0, ("unclear", ())),
        ([0.2, 3.0, 0.1], Numbers([0, 2.5, 0], gain=9.0, word=0.9 * DECISIVE), 3.0, ("unclear", ())),
        ([0.2, 3.0, 0.1], Numbers([0, 0.9, 0]), 3.0, ("unclear", ())),
        ([2.0, 3.0, 0.1], Numbers([1.5, 2.5, 0]), 3.0, ("cite", (1, 0))),
        ([1.4, 3.0, 0.1], Numbers([1.5, 2.5, 0]), 3.0, ("cite", (1,))),
        ([1.4, 3.0, 0.1], Numbers([1.5, 0.2, 0]), 3.0, ("cite", (0,))),
        ([1.6, 3.0, 0.1], Numbers([1.5, 0.2, 0]), 0.9, ("unclear", ())),  # the second alone needs the whole context
        ([0.8, 3.0, 0.1], Numbers([0.1, 0.2, 0], both=2.0), 3.0, ("either", (0, 1))),
        ([0.8, 3.0, 0.1], Numbers([0.1, 0.2, 0], both=0.9), 3.0, ("unclear", ())),
        ([0.8, 0.9, 0.1], Numbers([2.0, 2.0, 2.0], both=2.0), 3.0, ("unclear", ())),
        ([0.8, 0.9, 0.1], Numbers([2.0, 2.0, 2.0], both=2.0), 0.9, ("none", ())),
        ([None, 3.0, None], Numbers([9, 2.5, 9]), 3.0, ("cite", (1,))),
    ],
)
def test_decisions(
    effects: Sequence[float | None], numbers: Numbers, whole: float, expected: tuple[str, tuple[int, ...]]
) -> None:
    assert outcome(effects, numbers, whole) == expected


def test_only_sources_that_could_be_cited_are_deleted() -> None:
    numbers = Numbers([0, 2.5, 0])
    outcome([0.2, 3.0, 0.1], numbers)
    assert numbers.questions == ["exact 1", "alone [1]"]
    numbers = Numbers([0, 0, 0])
    outcome([0.2, 0.3, 0.1], numbers)
    assert numbers.questions == []


def test_a_source_that_does_not_replace_the_first_is_not_deleted() -> None:
    numbers = Numbers([0.1, 0.2, 0], both=0.9)  # hiding it as well costs less than the threshold
    outcome([0.8, 3.0, 0.1], numbers)
    assert numbers.questions == ["exact 1", "together 1 0"]


@pytest.mark.parametrize("scale", [1.0, 2.0, 8.0])
def test_larger_effects_never_lose_a_citation(scale: float) -> None:
    numbers = Numbers([0.3 * scale, 1.2 * scale, 0])
    assert outcome([0.4 * scale, 1.1 * scale, 0.0], numbers)[1] == (1,)


class Poor(Numbers):
    """Measurements whose limit does not pay for the test of a source alone."""

    def alone(self, sources: Sequence[int]) -> Alone:
        raise TooCostly


@pytest.mark.parametrize(
    ("hidden", "deleted", "status"),
    [(STRONG, STRONG, "cite"), (STRONG - 0.1, 9.0, "unclear"), (9.0, STRONG - 0.1, "unclear")],
)
def test_only_strong_effects_are_cited_without_the_test_alone(hidden: float, deleted: float, status: str) -> None:
    result = decision([0.1, hidden], 3.0, Poor([0.0, deleted]), delta=1.0, gain=2.0, check=2)
    assert (result.status, result.alone, result.checked) == (status, None, status == "cite")
