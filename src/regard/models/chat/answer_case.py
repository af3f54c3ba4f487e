"""Prompt with sources and an answer, for methods that rank sources, with cost accounting.

Effects are drops of the log-odds of a span of the answer, in nats. Every question is answered once and cached;
`metered` charges a method for every distinct question, even if another method asked it before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from regard.measures.keyed_random import keyed_rng
from regard.models.chat.answer import Answer, answer_units
from regard.models.chat.decoder_rows import rows_of
from regard.models.chat.log_odds import log_probabilities, span_log_odds
from regard.models.chat.prompt_reader import PromptReader
from regard.records import Floats, Ints


@dataclass(slots=True)
class Meter:
    """Cost of a method, in positions computed / positions of the prompt; the plain pass is included."""

    passes: float


class AnswerCase:
    """Answer questions about one answer. units: "sentence" or "answer", the spans on which effects are measured.

    spans: (start, stop) of every span. owners: (answer tokens,) the span of every token. base: (spans,) log-odds.
    """

    def __init__(self, reader: PromptReader, reply: Answer, *, units: str = "answer", seed: int = 0) -> None:
        self.reader, self.reply, self.seed = reader, reply, seed
        self.spans, self.owners = answer_units(reply, units)
        self.rows = rows_of(reader.chat, reader.ids, reply.ids, reply.before)
        self.base = self.by_span(self.rows.base)
        self._plain = self.rows.passes
        self._answers: dict[object, tuple[Floats, float]] = {}
        self._charged: set[object] = set()
        self._meter = Meter(self._plain)

    @property
    def count(self) -> int:
        """Number of sources."""
        return len(self.reader.sources)

    @property
    def source_owners(self) -> Ints:
        """(prompt tokens,) the source of every token, -1 for none."""
        return self.reader.owners

    @contextmanager
    def metered(self) -> Iterator[Meter]:
        """Charge the questions inside the block to one method."""
        self._charged, self._meter = set(), Meter(self._plain)
        try:
            yield self._meter
        finally:
            self._charged, self._meter = set(), Meter(self._plain)

    def rng(self, *keys: object) -> np.random.Generator:
        """Return the random generator of this prompt and answer and these keys."""
        return keyed_rng(self.seed, *keys, tuple(self.reader.ids), tuple(self.reply.ids))

    def by_span(self, log_odds: Floats) -> Floats:
        """(..., answer tokens) log-odds of tokens -> (..., spans) log-odds of spans."""
        return np.stack([span_log_odds(log_odds[..., self.owners == u]) for u in range(len(self.spans))], -1)

    def token_log_odds(self, deleted: Iterable[int]) -> Floats:
        """Return (answer tokens,) log-odds after deleting sources and rendering the prompt again."""
        numbers = frozenset(deleted)
        if not numbers:
            return self.rows.base
        return self._once(("deleted", numbers), lambda: self.rows.deleted(self.reader.without(numbers)))

    def deletion(self, *numbers: int) -> Floats:
        """Return (spans,) the exact effect of deleting sources together."""
        return self.base - self.by_span(self.token_log_odds(numbers))

    def mean_probability(self, deleted: Iterable[int]) -> Floats:
        """Return (spans,) the geometric mean of the token probabilities after deleting sources."""
        log_p = log_probabilities(self.token_log_odds(deleted))
        return np.array([float(np.exp(log_p[self.owners == u].mean())) for u in range(len(self.spans))])

    def hiding(self, groups: Sequence[Sequence[int]]) -> Floats:
        """Return (groups, spans) the effect of hiding the sources of each group from the rows of the answer."""
        hidden = np.stack([np.isin(self.source_owners, group) for group in groups])
        key = ("hidden", tuple(map(tuple, groups)))
        return self.base - self.by_span(self._once(key, lambda: self.rows.knocked_out(hidden)))

    def ask(self, name: str, question: Callable[[], Floats], *, positions: int) -> Floats:
        """Return and remember the answer to another question; its cost is a number of positions."""
        return self._once((name,), question, positions / len(self.reader.ids))

    def _once(self, key: object, question: Callable[[], Floats], cost: float | None = None) -> Floats:
        if key not in self._answers:
            before = self.rows.passes
            answer = question()
            self._answers[key] = (answer, self.rows.passes - before if cost is None else cost)
        answer, price = self._answers[key]
        if key not in self._charged:
            self._charged.add(key)
            self._meter.passes += price
        return answer
