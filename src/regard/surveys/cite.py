"""`cite`: which sources of a prompt does a language model's answer come from?

1. One plain pass over prompt and answer.
2. Ranking: each source in turn is hidden from the rows that predict the answer (`models.chat.answer_rows`).
3. Check: the best two sources of every sentence are deleted for real, one by one; so are all sources together.
4. Decision with one threshold, `DELTA`; two sources that can replace each other are found by deleting both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from regard.errors import InputError, Unsupported
from regard.models.ask.chat_model import ChatModel, chat_model
from regard.models.chat.answer import Answer, answer_units, generated_answer, token_answer, written_answer
from regard.models.chat.answer_rows import AnswerRows
from regard.models.chat.conversation import Conversation, content_of, conversation, plain_text, rendered
from regard.models.chat.log_odds import log_probabilities, span_log_odds
from regard.models.chat.sources import Source, find_sources, rendered_spans, token_sources
from regard.models.open.load import load
from regard.protocols import Model
from regard.records import Floats, Ints, Message
from regard.surveys.cited_answer import CitedAnswer, CitedSentence, CitedSource, Pair, Status

DELTA = 1.0
"""Threshold of every effect, in nats: odds that fall to less than 0.37 of themselves."""
SECOND = 0.5
"""A second source is cited if its effect is at least this share of the first one's: a long sentence has a few words in
common with many sources."""


def cite(
    model: str | Model | Any,
    messages: str | Sequence[Mapping[str, Any]],
    answer: str | Sequence[int] | None = None,
    *,
    sources: str | Sequence[Any] | None = None,
    separator: str | None = None,
    documents: Sequence[Mapping[str, Any]] = (),
    tokenizer: Any = None,
    prefix: str = "",
    units: str = "sentence",
    check: int = 2,
    delta: float = DELTA,
    new_tokens: int = 128,
    device: str = "auto",
) -> CitedAnswer:
    """Measure which sources of a prompt each sentence of an answer depends on, and cite them.

    model: a causal language model as `load` takes it, or a transformers model with its `tokenizer`.
    messages: a chat, or a plain prompt. answer: a text, token ids, or None: the last message if it is the assistant's,
    else the model's own greedy answer. sources, separator: see `models.chat.sources.find_sources`.
    documents: [{"title": ..., "text": ...}] for chat templates that take them. prefix: the beginning of the answer,
    read but not scored. units: "sentence" or "answer". check: sources deleted for real, per sentence.

    A citation says that the model used a source, not that the source or the answer is true.
    """
    if check < 1 or not delta > 0 or new_tokens < 1:
        got = f"check={check}, delta={delta}, new_tokens={new_tokens}"
        raise InputError("cite", expected="check, delta and new_tokens above 0", got=got)
    chat = chat_model(load(model, processor=tokenizer, device=device))
    turns, given_answer = _answer_of(messages, answer)
    prompt = (
        plain_text(turns) if isinstance(turns, str) else conversation(chat.tokenizer, turns, documents, name=chat.name)
    )
    parts, notes = find_sources(prompt, sources, separator)
    reader = PromptReader(chat, prompt, parts, prefix)
    reply = reader.answer(given_answer, new_tokens)
    evidence = measure(reader, reply, units, check=check, delta=delta)
    return CitedAnswer(
        model=chat.name,
        answer=reply.text,
        generated=given_answer is None,
        sources=tuple(
            CitedSource(source.text, source.spans, int((reader.owners == i).sum())) for i, source in enumerate(parts)
        ),
        sentences=tuple(evidence.sentences()),
        delta=delta,
        ranking=evidence.ranking,
        prompt_tokens=len(reader.ids),
        ranking_passes=round(evidence.ranking_passes, 3),
        passes=round(evidence.rows.passes, 3),
        notes=(*notes, *reply.notes, *evidence.notes),
    )


def _answer_of(
    messages: str | Sequence[Mapping[str, Any]], answer: str | Sequence[int] | None
) -> tuple[str | Sequence[Mapping[str, Any]], str | Sequence[int] | None]:
    """Take the answer from the last message if that is the assistant's."""
    last = messages[-1] if messages and not isinstance(messages, str | Mapping) else None
    if not isinstance(last, Mapping) or last.get("role") != "assistant":
        return messages, answer
    if answer is not None:
        raise InputError("answer", expected="one answer", got="an answer, and messages that end with the assistant's")
    return messages[:-1], content_of(last, len(messages) - 1)


class PromptReader:
    """A prompt as tokens, whole or with sources deleted; owners: (tokens,) the source of every token, -1 for none."""

    def __init__(self, chat: ChatModel, prompt: Conversation, sources: Sequence[Source], prefix: str) -> None:
        self.chat, self.prompt, self.sources, self.prefix = chat, prompt, sources, prefix
        page = rendered(prompt)
        self.text = page.text + prefix
        self.ids, offsets = chat.tokenize(self.text, special=prompt.special)
        self.owners: Ints = token_sources(self.text, offsets, rendered_spans(page, sources))
        for number, source in enumerate(sources):
            if not (self.owners == number).any():
                raise InputError(
                    f"source {number + 1} ({source.text[:40]!r})",
                    expected="a source with at least one token that begins in it",
                    got="a part of a token of its neighbour",
                )

    def answer(self, given: str | Sequence[int] | None, new_tokens: int) -> Answer:
        """Return the given answer, or the model's own."""
        if given is None:
            return generated_answer(self.chat, self.ids, new_tokens)
        if isinstance(given, str):
            return written_answer(self.chat, given, self.text, self.ids, special=self.prompt.special)
        return token_answer(self.chat, given)

    def without(self, numbers: frozenset[int]) -> list[int]:
        """Return the tokens of the prompt, rendered again without some sources."""
        spans = [span for number in numbers for span in self.sources[number].spans]
        shorter = self.prompt.without(spans)
        return self.chat.tokenize(shorter.render(shorter.fields) + self.prefix, special=self.prompt.special)[0]


@dataclass(slots=True)
class Evidence:
    """Everything that was measured about one answer.

    spans: of its sentences. owners: (tokens,) the sentence of every token. base: (sentences,) log-odds.
    """

    reader: PromptReader
    reply: Answer
    rows: AnswerRows
    spans: list[tuple[int, int]]
    owners: Ints
    delta: float
    check: int
    ranking: str = "row_knock_out"
    ranking_passes: float = 0.0
    effects: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    notes: list[Message] = field(default_factory=list)
    base: Floats = field(init=False)
    _deletions: dict[frozenset[int], Floats] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.base = self.by_sentence(self.rows.base)

    def by_sentence(self, log_odds: Floats) -> Floats:
        """(..., tokens) log-odds of tokens -> (..., sentences) log-odds of sentences."""
        return np.stack([span_log_odds(log_odds[..., self.owners == u]) for u in range(len(self.spans))], -1)

    def deletion(self, *numbers: int) -> Floats:
        """Return (sentences,) the exact effect of deleting sources together."""
        key = frozenset(numbers)
        if key not in self._deletions:
            self._deletions[key] = self.base - self.by_sentence(self.rows.deleted(self.reader.without(key)))
        return self._deletions[key]

    def hiding(self, groups: Sequence[Sequence[int]]) -> Floats:
        """Return (groups, sentences) the effect of hiding the sources of each group together."""
        if self.ranking == "leave_source_out":
            return np.stack([self.deletion(*group) for group in groups])
        hidden = np.stack([np.isin(self.reader.owners, group) for group in groups])
        return self.base - self.by_sentence(self.rows.knocked_out(hidden))

    def rank(self) -> None:
        """Measure the effect of every source on every sentence."""
        alone = [[number] for number in range(len(self.reader.sources))]
        try:
            self.effects = self.hiding(alone).T
        except Unsupported as problem:
            self.ranking = "leave_source_out"
            self.notes.append(Message.of("cite.note.no_rows", why=problem.got))
            self.effects = self.hiding(alone).T
        self.ranking_passes = self.rows.passes

    def sentences(self) -> list[CitedSentence]:
        whole = self.deletion(*range(len(self.reader.sources)))
        best = np.argsort(-self.effects, axis=1, kind="stable")[:, : self.check]
        open_questions = [
            u for u in range(len(self.spans)) if whole[u] >= self.delta or self.effects[u].max() >= self.delta
        ]
        for source in dict.fromkeys(int(c) for u in open_questions for c in best[u]):
            self.deletion(source)
        return [self._decided(u, float(whole[u]), [int(c) for c in best[u]]) for u in range(len(self.spans))]

    def _decided(self, u: int, whole: float, best: list[int]) -> CitedSentence:
        effects, delta = self.effects[u], self.delta
        count = len(effects)
        exact = [float(self.deletion(c)[u]) if frozenset((c,)) in self._deletions else None for c in range(count)]
        checked = [c for c in best if exact[c] is not None]
        cited = tuple(c for c in checked if (exact[c] or 0.0) >= delta and effects[c] >= delta and whole >= delta)
        cited = tuple(c for c in cited if effects[c] >= SECOND * max(effects[list(cited)]))
        status: Status = "cite" if cited else "unclear"
        pair: Pair | None = None
        weak = len(checked) > 1 and all((exact[c] or 0.0) < delta for c in checked[:2])
        if weak and min(whole, float(effects.max())) >= delta:
            # the second can replace the first: together they must pass the test of one source
            effect = float(self.hiding([checked[:2]])[0, u])
            pair = Pair(effect=effect, exact=float(self.deletion(*checked[:2])[u]))
            if min(pair.effect, pair.exact) >= delta:
                status, cited = "either", tuple(sorted(checked[:2]))
        if not cited and whole < delta and effects.max() < delta:
            status = "none"
        start, stop = self.spans[u]
        own = self.owners == u
        return CitedSentence(
            text=self.reply.text[start:stop],
            start=start,
            stop=stop,
            tokens=int(own.sum()),
            log_odds=float(self.base[u]),
            log_probability=float(log_probabilities(self.rows.base[own]).sum()),
            effects=tuple(map(float, effects)),
            exact=tuple(exact),
            whole=whole,
            pair=pair,
            status=status,
            cited=cited,
            supported=bool(min(whole, float(effects.max())) >= delta),
        )


def measure(reader: PromptReader, reply: Answer, units: str, *, check: int, delta: float) -> Evidence:
    """Read prompt and answer once, and rank the sources."""
    spans, owners = answer_units(reply, units)
    rows = AnswerRows(reader.chat, reader.ids, reply.ids)
    evidence = Evidence(reader=reader, reply=reply, rows=rows, spans=spans, owners=owners, delta=delta, check=check)
    evidence.rank()
    return evidence
