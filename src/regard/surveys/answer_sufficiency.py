"""Sufficiency: does a prompt with few sources lead to a sentence, where a prompt without sources does not?

The sentence is read directly after the prompt, without the sentences before it, which would compete with the sources,
or replace them. Its own sources are the only ones of the prompt. If the limit of passes does not cover that, the prompt
holds all sources (`company`): it was read before, and sources that do not lead to a sentence make it less likely, not
more. A sentence that fails in company is read with its own sources.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from regard.models.chat.answer import Answer, answer_units
from regard.models.chat.answer_objective import AnswerObjective
from regard.models.chat.log_odds import weighted_probability
from regard.models.chat.prompt_reader import PromptReader
from regard.records import Floats
from regard.surveys.citation_rule import SUFFICIENT, decisive_word, sufficient
from regard.surveys.cited_answer import Alone

AGAIN = 2.0
"""Factor by which a sentence that failed in company must exceed the usual requirement with its own sources."""


class Measured(Protocol):
    """The measurements that sufficiency needs."""

    @property
    def reader(self) -> PromptReader: ...
    @property
    def reply(self) -> Answer: ...
    @property
    def objective(self) -> AnswerObjective: ...
    @property
    def delta(self) -> float: ...
    @property
    def gain(self) -> float: ...
    def token_drops(self, u: int, numbers: Sequence[int]) -> Floats: ...
    def isolated(self, prompt: Sequence[int], u: int, before: Sequence[int]) -> tuple[float, Floats]: ...


@dataclass(slots=True)
class Sufficiency:
    """Read sentences after prompts with few sources; nothing is read twice."""

    evidence: Measured
    company: frozenset[int] = frozenset()
    _read: dict[tuple[frozenset[int], int], tuple[float, Floats]] = field(default_factory=dict)
    _alone: dict[tuple[frozenset[int], int], Alone] = field(default_factory=dict)

    def gather(self, sentences: Iterable[int]) -> None:
        """Read sentences in company: straight after the prompt with all sources, which was read before."""
        self.company = frozenset(range(len(self.evidence.reader.sources)))
        for u in sentences:
            self._isolated(u, frozenset())
            self._isolated(u, self.company)

    def alone(self, u: int, numbers: Sequence[int]) -> Alone:
        """Test the sources of a sentence as the only ones; first in company, if there is any."""
        own = frozenset(numbers)
        if not own < self.company:
            return self._tested(u, numbers, own)
        if (own, u) not in self._alone and not self.passes_together(u, numbers):
            together, again = self._tested(u, numbers, self.company), self._tested(u, numbers, own)
            self._alone[own, u] = again if again.probability >= AGAIN * SUFFICIENT else together
        return self._alone[own, u]

    def passes_together(self, u: int, numbers: Sequence[int]) -> bool:
        """Test the sources of a sentence in company; a sentence that passes is not tested again."""
        together = self._tested(u, numbers, self.company)
        if sufficient(together, gain=self.evidence.gain):
            self._alone.setdefault((frozenset(numbers), u), together)
        return (frozenset(numbers), u) in self._alone

    def cost(self, u: int, numbers: Sequence[int]) -> float:
        """Return the passes that reading a sentence after a prompt with some sources would cost."""
        prompt, before, own = self._prompt(frozenset(numbers)), self._before(u), self._tokens(u)
        return self.evidence.objective.cost(prompt, [*before, *own])

    def _tested(self, u: int, numbers: Sequence[int], remaining: frozenset[int]) -> Alone:
        """Compare the sentence after a prompt with the remaining sources, and after one without any."""
        own, before = self._tokens(u), self._before(u)
        weights = np.maximum(self.evidence.token_drops(u, numbers)[own], 0.0)
        if len(before) == 0 and own[0] > 0 and weights[1:].sum() >= self.evidence.delta:
            weights[0] = 0.0  # which subject comes next was decided by the sentences before, which are not read
        nothing, without = self._isolated(u, frozenset())
        value, log_p = self._isolated(u, remaining)
        return Alone(
            gain=value - nothing,
            probability=weighted_probability(log_p, weights),
            word=decisive_word(log_p, without, delta=self.evidence.delta),
            sources=tuple(sorted(remaining)),
        )

    def _isolated(self, u: int, remaining: frozenset[int]) -> tuple[float, Floats]:
        if (remaining, u) not in self._read:
            self._read[remaining, u] = self.evidence.isolated(self._prompt(remaining), u, self._before(u))
        return self._read[remaining, u]

    def _prompt(self, remaining: frozenset[int]) -> list[int]:
        return self.evidence.reader.without(frozenset(range(len(self.evidence.reader.sources))) - remaining)

    def _tokens(self, u: int) -> list[int]:
        return [int(i) for i in np.flatnonzero(self.evidence.objective.owners == u)]

    def _before(self, u: int) -> range:
        """Return the tokens of the same sentence that stand before a span."""
        first = self._tokens(u)[0]
        _, owners = answer_units(self.evidence.reply, "sentence")
        return range(int(np.flatnonzero(owners == owners[first])[0]), first)
