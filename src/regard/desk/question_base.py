"""Base class of the desk's questions: cache key, cost, batch group, and a function that answers a batch."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from regard.protocols import Encoded, Question, Target

if TYPE_CHECKING:
    from regard.desk.desk import Desk


R = TypeVar("R")
Bundle = tuple[list[Any], Encoded]
"""Questions that share one row of a batch, and the model input for them."""


@dataclass(frozen=True)
class DeskQuestion(Question[R]):
    """A question about one example. Answers are cached by equality, large answers within a limit."""

    example: str
    cached: ClassVar[bool] = True
    large: ClassVar[bool] = False
    backward: ClassVar[bool] = False

    @property
    def key(self) -> Hashable | None:
        """Cache key of the answer; None for no caching."""
        return self if self.cached else None

    @classmethod
    def requests(cls, questions: Sequence[Self]) -> int:
        """Number of requests that these questions count as."""
        return len(questions)

    @classmethod
    def cost(cls, bundle: Sequence[Self], answers: Sequence[R]) -> int:
        """Forward passes of a bundle (and backward passes, if `backward` is set)."""
        return len(bundle)

    def bundle(self, place: int) -> Hashable:
        """Key of the batch row: questions with equal keys share it."""
        return place

    @classmethod
    def group(cls, bundle: Sequence[Self]) -> Hashable:
        """Key of the batch: bundles with equal keys may share it."""
        return None

    def encoded(self, desk: Desk) -> Encoded | None:
        """Model input; None if the model cannot read it."""
        return desk.encoded(self.example)

    def unread(self, desk: Desk) -> R:
        """Answer if the model cannot read the input."""
        raise NotImplementedError

    @classmethod
    def answers(cls, desk: Desk, batch: Sequence[Bundle]) -> list[list[R]]:
        """Answer every question of each bundle in one pass of the model."""
        raise NotImplementedError

    @classmethod
    def compute(cls, desk: Desk, questions: Sequence[Self]) -> list[R]:
        """Compute the answers that are not cached, in batches of similar length."""
        bundles: dict[Hashable, list[int]] = {}
        for place, question in enumerate(questions):
            bundles.setdefault(question.bundle(place), []).append(place)
        desk.targets([questions[places[0]].example for places in bundles.values()])
        groups: dict[Hashable, list[list[int]]] = {}
        for places in bundles.values():
            groups.setdefault(cls.group([questions[place] for place in places]), []).append(places)
        answers: dict[int, R] = {}
        for group in groups.values():
            readable: list[tuple[list[int], Bundle]] = []
            for places in group:
                encoded = questions[places[0]].encoded(desk)
                if encoded is None:
                    answers |= {place: questions[place].unread(desk) for place in places}
                else:
                    readable.append((places, ([questions[place] for place in places], encoded)))
            batch = [bundle for _, bundle in readable]
            rows = desk.batching.answers(batch, [e.length for _, e in batch], partial(cls.answers, desk))
            for (places, _), row in zip(readable, rows, strict=True):
                answers |= dict(zip(places, row, strict=True))
            forwards = sum(cls.cost(bundle, row) for (bundle, _), row in zip(batch, rows, strict=True))
            desk.meter.charge(forwards=forwards, backwards=forwards if cls.backward else 0)
        return [answers[place] for place in range(len(questions))]


def targets_of(desk: Desk, batch: Sequence[Bundle]) -> list[Target]:
    return desk.targets([bundle[0].example for bundle, _ in batch])
