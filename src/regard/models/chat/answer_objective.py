"""The value of an answer while sources are hidden or deleted: log-odds of its spans, or of one text against another.

Without a contrast, the value of a span is log P / (1 - P), P the product of its tokens' probabilities. With one ("why
A rather than B"), it is log P(A) / P(B): the two texts follow the same beginning and may have different lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from regard.models.ask.chat_model import ChatModel
from regard.models.chat.answer_rows import AnswerRows
from regard.models.chat.decoder_rows import rows_of
from regard.models.chat.gradient_contributions import column_contributions
from regard.models.chat.log_odds import log_probabilities, span_log_odds
from regard.records import Bools, Floats, Ints


class AnswerObjective:
    """Values of one answer in nats; base: (spans,) of the plain pass.

    owners: (tokens,) the span of every token of the answer, -1 for none. rival: tokens and owners of the text that the
    only span is compared with. before: tokens that a decoder behind an encoder reads before the answer.
    """

    def __init__(
        self,
        chat: ChatModel,
        prompt: Sequence[int],
        answer: Sequence[int],
        owners: Ints,
        rival: tuple[Sequence[int], Ints] | None = None,
        *,
        before: Sequence[int] = (),
    ) -> None:
        self.owners, self.count = owners, int(owners.max()) + 1
        self.rows = rows_of(chat, prompt, answer, before)
        self._rival = rows_of(chat, prompt, rival[0], before) if rival else None
        self._rival_owners: Ints = rival[1] if rival else np.zeros(0, np.int64)
        self.base = self._values(lambda rows: rows.base)
        self.log_probabilities = self._sums(log_probabilities(self.rows.base), owners)

    @property
    def passes(self) -> float:
        """Return the token positions computed so far, in units of the prompt's length."""
        return self.rows.passes + (self._rival.passes if self._rival else 0.0)

    def cost(self, prompt: Sequence[int], part: Sequence[int] | None = None) -> float:
        """Return the passes that another prompt would cost, before the answer or some of its tokens."""
        return self.rows.cost(prompt, part) + (self._rival.cost(prompt) if self._rival and part is None else 0.0)

    def row_cost(self, variants: int) -> float:
        """Return the passes that hiding columns in so many variants would cost."""
        return self.rows.row_cost(variants) + (self._rival.row_cost(variants) if self._rival else 0.0)

    def hidden(self, columns: Bools) -> tuple[Floats, Floats]:
        """Hide columns from the rows: (variants, spans) values, and (variants, tokens) log-probabilities."""
        return self._both(lambda rows: rows.knocked_out(columns))

    @property
    def contrasted(self) -> bool:
        """Return whether the value compares two texts."""
        return self._rival is not None

    def deleted(self, prompt: Sequence[int], tokens: int | None = None) -> tuple[Floats, Floats]:
        """Return (spans,) values after another prompt, and (tokens,) log-probabilities of the answer.

        tokens: read only so many tokens of the answer; later tokens and spans are NaN.
        """
        count = len(self.owners)
        if tokens is None or tokens >= count or self._rival is not None:
            return self._both(lambda rows: rows.deleted(prompt))
        table = self.rows.deleted(prompt, range(tokens))
        spans = [np.flatnonzero(self.owners == u) for u in range(self.count)]
        values = [float(span_log_odds(table[own])) if own[-1] < tokens else np.nan for own in spans]
        log_p = np.full(count, np.nan)
        log_p[:tokens] = log_probabilities(table)
        return np.array(values), log_p

    def isolated(self, prompt: Sequence[int], span: int, before: Sequence[int]) -> tuple[float, Floats]:
        """Return log-odds and (tokens,) log-probabilities of one span after another prompt.

        before: indices of the answer tokens to read before the span, instead of all.
        """
        own = np.flatnonzero(self.owners == span)
        log_odds = self.rows.deleted(prompt, [*before, *map(int, own)])[len(before) :]
        return float(span_log_odds(log_odds)), log_probabilities(log_odds)

    def forgotten_cost(self, tokens: Bools) -> float:
        """Return the passes that `forgotten` would cost."""
        return self.rows.forgotten_cost(tokens)

    def forgotten(self, tokens: Bools) -> tuple[Floats, Floats]:
        """Hide tokens of the answer from the rows after the last of them: (spans,) values, (tokens,) log p."""
        table = self.rows.forgotten(tokens)
        return self._values(lambda _: table), log_probabilities(table)

    def contributions(self, members: Bools) -> Floats:
        """Return (spans, groups) gradient contributions; members: (groups, prompt tokens)."""
        past = members[:, : len(self.rows.prompt) - 1].T.astype(np.float64)
        shares = column_contributions(self.rows, self.owners)[:, : len(past)] @ past
        if self._rival:
            shares = shares - column_contributions(self._rival, self._rival_owners)[:, : len(past)] @ past
        return shares

    def _both(self, log_odds: Callable[[AnswerRows], Floats]) -> tuple[Floats, Floats]:
        """Return values, and the log-probabilities of the answer's tokens."""
        tables: list[Floats] = []

        def read(rows: AnswerRows) -> Floats:
            tables.append(log_odds(rows))
            return tables[-1]

        values = self._values(read)
        return values, log_probabilities(tables[0])

    def _values(self, log_odds: Callable[[Any], Floats]) -> Floats:
        if self._rival is None:
            table = log_odds(self.rows)
            return np.stack([span_log_odds(table[..., self.owners == u]) for u in range(self.count)], -1)
        own = self._sums(log_probabilities(log_odds(self.rows)), self.owners)
        return own - self._sums(log_probabilities(log_odds(self._rival)), self._rival_owners)

    @staticmethod
    def _sums(table: Floats, owners: Ints) -> Floats:
        """(..., tokens) -> (..., spans) sums."""
        return np.stack([table[..., owners == u].sum(-1) for u in range(int(owners.max()) + 1)], -1)
