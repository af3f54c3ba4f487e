"""Questions about the reader and its vocabulary: read rows, token ids, orders and origins of units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from regard.desk.question_base import DeskQuestion, R
from regard.models.ask import token_ids as ids_of_tokens
from regard.models.ask.lexicon import lexicon
from regard.models.read_rows import read_rows
from regard.protocols import Case, Lexicon
from regard.records import Example, Ints, Site

if TYPE_CHECKING:
    from regard.desk.desk import Desk


@dataclass(frozen=True, eq=False)
class _Fact(DeskQuestion[R]):
    """A question that runs no forward pass."""

    cached: ClassVar[bool] = False

    @classmethod
    def requests(cls, questions: Sequence[Self]) -> int:
        return 0

    def fact(self, desk: Desk) -> R:
        raise NotImplementedError

    @classmethod
    def compute(cls, desk: Desk, questions: Sequence[Self]) -> list[R]:
        return [question.fact(desk) for question in questions]


@dataclass(frozen=True, eq=False)
class ReadRows(_Fact[tuple[int, ...]]):
    """Query rows of a site that the objective reads."""

    site: Site

    def fact(self, desk: Desk) -> tuple[int, ...]:
        return read_rows(desk.model, desk.encoded(self.example), desk.target(self.example), self.site)


@dataclass(frozen=True, eq=False)
class TokenIds(_Fact[Ints]):
    """(units,) token ids of a text; any text, not only that of the example."""

    candidate: Example

    def fact(self, desk: Desk) -> Ints:
        return ids_of_tokens.token_ids(desk.model, desk.model.encode(self.candidate))


class Vocabulary(_Fact[Lexicon]):
    """The model's input vocabulary."""

    def fact(self, desk: Desk) -> Lexicon:
        return lexicon(desk.model)


class Displacement(_Fact[float]):
    """Distance by which a variant moved the continuous inputs, relative to their norm; 0 in the case itself."""

    def fact(self, desk: Desk) -> float:
        return desk.admission(self.example).displacement


class UnitOrder(_Fact[Ints]):
    """(n,): the original unit in each place; 0, 1, 2... except for a shuffled variant."""

    def fact(self, desk: Desk) -> Ints:
        order = desk.admission(self.example).order
        return np.arange(len(desk.units(self.example))) if order is None else order


class UnitOrigins(_Fact[Ints]):
    """(n,): the original unit of each unit, -1 for none; 0, 1, 2... except for a perturbed variant.

    See `origins` for pieces of words; sums over `groups` are exact.
    """

    def fact(self, desk: Desk) -> Ints:
        origins = desk.admission(self.example).origins
        return np.arange(len(desk.units(self.example))) if origins is None else origins()


def token_ids(case: Case, example: Example) -> Ints:
    """Return (units,) token ids of a text; runs no model."""
    return case.ask([TokenIds(example.id, example)])[0]


def vocabulary(case: Case) -> Lexicon:
    """Input vocabulary of the model; Unsupported if it reads no tokens or they have no spelling."""
    return case.ask([Vocabulary("")])[0]
