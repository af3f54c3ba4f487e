"""A contrast of two answers as metrics see it: log P(A) / P(B), whole and with units of the prompt removed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, TypeVar

import numpy as np

from regard.desk.case import DeskCase
from regard.errors import Unsupported, phrase
from regard.protocols import Change, Question, SiteAttention
from regard.records import Answers, Bools, Relevance, Spec

R = TypeVar("R")


class ContrastCase(DeskCase):
    """The case of the answers, with `rivals` to compare them with; supports removals only.

    The value is log P(A) / P(B), the probability P(A) / (P(A) + P(B)).
    """

    def __init__(self, case: DeskCase, rivals: DeskCase) -> None:
        super().__init__(case.desk, case.examples)
        self._own, self._rivals = case, rivals

    def base(self) -> Answers:
        return contrasted(self._own.base(), self._rivals.base())

    def removed(self, drops: Sequence[Bools], operator: str | None = None) -> Answers:
        others = [self._fitted(i, own) for i, own in enumerate(drops)]
        return contrasted(self._own.removed(drops, operator), self._rivals.removed(others, operator))

    def _fitted(self, i: int, drops: Bools) -> Bools:
        """Restrict removals to the units of the prompt, which both answers share; answer units are never removed."""
        shared = np.flatnonzero(self.units[i].free)
        fitted = np.zeros((len(drops), len(self._rivals.units[i])), np.bool_)
        fitted[:, shared] = np.asarray(drops)[:, shared]
        return fitted

    def ask(self, questions: Sequence[Question[R]]) -> list[R]:
        raise _refusal()

    def attention(self, i: int) -> Sequence[SiteAttention]:
        raise _refusal()

    def relevance(self, method: str | Spec) -> Relevance:
        raise _refusal()

    def subset(self, positions: Sequence[int]) -> Self:
        raise _refusal()

    def variant(self, change: Change) -> Self:
        raise _refusal()


def _refusal() -> Unsupported:
    return Unsupported(
        phrase("errors.audits.metric_of_contrast"),
        expected=phrase("errors.audits.removals_alone"),
        got=phrase("errors.audits.another_question"),
    )


def contrasted(own: Answers, other: Answers) -> Answers:
    """Return value and probability of answers against others."""
    value = own.value - other.value
    return Answers(own.offsets, value, 1 / (1 + np.exp(-value)), None)
