"""The answer of a model behind an API: values of its sentences by deletion, in the interface of `models.chat`.

Tokens are those of the endpoint, known by where they begin. Hiding columns, gradients and forgetting tokens need the
model itself and raise an error; callers fall back to deletions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.errors import InputError, Text, Unsupported, phrase
from regard.models.chat.answer import Answer
from regard.models.chat.conversation import Conversation, rendered
from regard.models.chat.log_odds import log_probabilities, span_log_odds
from regard.models.chat.sources import Source, rendered_spans, token_sources
from regard.models.endpoint.endpoint_model import EndpointModel
from regard.records import Bools, Floats, Ints


class EndpointReader:
    """A plain prompt with its sources, whole or with some of them deleted."""

    def __init__(self, model: EndpointModel, prompt: Conversation, sources: Sequence[Source], prefix: str) -> None:
        self.model, self.prompt, self.sources, self.prefix = model, prompt, sources, prefix
        page = rendered(prompt)
        self.text = page.text + prefix
        (scored,) = model.client.scores([self.text])
        ends = [*scored.offsets[1:], len(self.text)]
        self.ids = list(range(len(scored.offsets)))
        offsets = list(zip(scored.offsets, ends, strict=True))
        self.owners: Ints = token_sources(self.text, offsets, rendered_spans(page, sources))

    def without(self, numbers: frozenset[int]) -> str:
        """The text of the prompt without some sources."""
        spans = [span for number in numbers for span in self.sources[number].spans]
        shorter = self.prompt.without(spans)
        return shorter.render(shorter.fields) + self.prefix

    def answer(self, text: str | None, new_tokens: int) -> Answer:
        """The given answer, or the model's own, with the tokens of the endpoint."""
        if text is None:
            text = self.model.client.continuations([self.text], new_tokens)[0].text
        if not text.strip():
            raise InputError(
                phrase("errors.common.answer_name", name=self.model.name),
                expected=phrase("errors.models.some_text"),
                got=phrase("errors.common.none"),
                remedy="--answer TEXT",
            )
        starts, _ = _tokens(self.model, self.text, text)
        stops = [*starts[1:], len(text)]
        return Answer(text, tuple(range(len(starts))), tuple(zip(starts, stops, strict=True)))


@dataclass(slots=True)
class _Rows:
    """Rows of the answer. base: (tokens,) log-odds of its tokens."""

    base: Floats


class EndpointObjective:
    """Implements the part of `models.chat.answer_objective.AnswerObjective` that needs texts alone."""

    contrasted = False

    def __init__(self, model: EndpointModel, prompt: str, reply: Answer, owners: Ints) -> None:
        self.model, self.reply, self.owners = model, reply, owners
        self.count = int(owners.max()) + 1
        self.passes = 0.0
        self._starts = [start for start, _ in reply.offsets]
        self.rows = _Rows(self._log_odds(prompt, reply.text, self._starts))
        self.base = self._values(self.rows.base)
        log_p = log_probabilities(self.rows.base)
        self.log_probabilities = np.array([log_p[owners == u].sum() for u in range(self.count)])

    def cost(self, prompt: str, part: Sequence[int] | None = None) -> float:
        """Cost of a question: one request."""
        return 1.0

    def row_cost(self, variants: int) -> float:
        """Cost of rows, which are refused: deletions take their place, one request each."""
        return float(variants)

    def deleted(self, prompt: str, tokens: int | None = None) -> tuple[Floats, Floats]:
        """(spans,) values after another prompt, and (tokens,) log-probabilities of the whole answer."""
        table = self._log_odds(prompt, self.reply.text, self._starts)
        return self._values(table), log_probabilities(table)

    def isolated(self, prompt: str, span: int, before: Sequence[int]) -> tuple[float, Floats]:
        """Return log-odds and (tokens,) log-probabilities of one span; before: tokens that precede it."""
        own = [int(i) for i in np.flatnonzero(self.owners == span)]
        tokens = [*before, *own]
        pieces = [self.reply.text[slice(*self.reply.offsets[i])] for i in tokens]
        starts = [0, *np.cumsum([len(piece) for piece in pieces]).tolist()[:-1]]
        log_odds = self._log_odds(prompt, "".join(pieces), starts)[len(before) :]
        return float(span_log_odds(log_odds)), log_probabilities(log_odds)

    def hidden(self, columns: Bools) -> tuple[Floats, Floats]:
        raise self._refused(phrase("errors.models.rows_attention"))

    def forgotten_cost(self, tokens: Bools) -> float:
        """Cost of forgetting tokens, which is refused."""
        return 0.0

    def forgotten(self, tokens: Bools) -> tuple[Floats, Floats]:
        raise self._refused(phrase("errors.models.rows_attention"))

    def contributions(self, members: Bools) -> Floats:
        raise self._refused("gradients")

    def _refused(self, what: Text) -> Unsupported:
        return Unsupported(
            phrase("errors.common.of_key", key=what, subject=self.model.name),
            expected=phrase("errors.models.model_in_this_process"),
            got=phrase("errors.models.model_behind_api"),
        )

    def _values(self, table: Floats) -> Floats:
        return np.array([span_log_odds(table[self.owners == u]) for u in range(self.count)])

    def _log_odds(self, prompt: str, text: str, starts: Sequence[int]) -> Floats:
        """(tokens,): log-odds of the answer after a prompt; the endpoint must tokenize it as before."""
        self.passes += 1.0
        tokens, log_p = _tokens(self.model, prompt, text)
        if list(tokens) != list(starts):
            raise Unsupported(
                phrase("errors.common.answer_name", name=self.model.name),
                expected=phrase("errors.models.same_tokens_after_shorter_prompt", n=len(starts)),
                got=phrase("errors.models.other_ones", n=len(tokens)),
            )
        limited = np.minimum(np.asarray(log_p), -1e-12)
        return np.asarray(limited - np.log(-np.expm1(limited)))


def _tokens(model: EndpointModel, prompt: str, text: str) -> tuple[list[int], list[float]]:
    """Return the starts of the tokens of a text after a prompt, counted from its start, and their log-probabilities."""
    (scored,) = model.client.scores([prompt + text])
    rows = [(at - len(prompt), p) for at, p in zip(scored.offsets, scored.log_probabilities, strict=True)]
    inside = [(at, p) for at, p in rows if at >= 0]
    if not inside or text[: inside[0][0]].strip():
        raise Unsupported(
            phrase("errors.common.answer_name", name=model.name),
            expected=phrase("errors.models.tokens_that_begin_where_prompt"),
            got=phrase("errors.models.token_across_border"),
        )
    starts = [0, *(at for at, _ in inside[1:])]
    return starts, [p for _, p in inside]
