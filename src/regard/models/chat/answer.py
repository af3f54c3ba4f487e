"""The tokens of an answer: given as text, given as token ids, or generated; with the characters of each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.errors import InputError, UnknownName, phrase
from regard.measures.sentences import sentence_spans
from regard.models.ask.chat_model import ChatModel
from regard.records import Ints, Message

UNITS = ("sentence", "word", "answer")


@dataclass(frozen=True, slots=True)
class Answer:
    """The text of an answer, its token ids, and the characters (start, stop) of every token.

    before: tokens that a decoder behind an encoder reads before the answer (its start token, and a prefix); else empty.
    """

    text: str
    ids: tuple[int, ...]
    offsets: tuple[tuple[int, int], ...]
    notes: tuple[Message, ...] = ()
    before: tuple[int, ...] = ()


def written_answer(chat: ChatModel, text: str, before: str, prompt: Sequence[int], *, special: bool) -> Answer:
    """Return an answer given as text.

    Its tokens are those after the prompt in the joint text. If the joint text has other tokens already inside the
    prompt (no model could have written that), the answer is tokenized by itself, with a note.
    """
    if not text.strip():
        raise InputError("answer", expected=phrase("errors.models.some_text"), got=phrase("errors.common.empty_text"))
    ids, offsets = chat.tokenize(before + text, special=special)
    count = len(prompt)
    notes: tuple[Message, ...] = ()
    if ids[:count] == list(prompt) and len(ids) > count:
        ids, offsets = ids[count:], [(a - len(before), b - len(before)) for a, b in offsets[count:]]
    else:
        ids, offsets = chat.tokenize(text, special=False)
        notes = (Message("cite.note.joined"),)
    if not ids:
        raise InputError("answer", expected=phrase("errors.models.text_with_tokens"), got=repr(text[:40]))
    return Answer(text, tuple(ids), tuple(offsets), notes)


def token_answer(chat: ChatModel, ids: Sequence[int]) -> Answer:
    """Return an answer given as token ids, as a model wrote it."""
    native: Any = chat.module
    size = int(native.get_input_embeddings().num_embeddings)
    if not ids or not all(0 <= int(token) < size for token in ids):
        raise InputError(
            "answer", expected=phrase("errors.models.token_ids_in_range", size=size - 1), got=f"{list(ids)[:5]}"
        )
    tokens = [int(token) for token in ids]
    # a token that ends inside a character reaches up to the last whole one
    ends = [len(chat.decode(tokens[: i + 1]).rstrip("\ufffd")) for i in range(len(tokens))]
    ends = np.maximum.accumulate(ends).tolist()
    return Answer(chat.decode(tokens), tuple(tokens), tuple(zip([0, *ends[:-1]], ends, strict=True)))


def generated_answer(chat: ChatModel, prompt: Sequence[int], new_tokens: int) -> Answer:
    """Return the model's own greedy answer."""
    room = new_tokens if chat.limit is None else min(new_tokens, chat.limit - len(prompt))
    if room < 1:
        chat.refuse_too_long(len(prompt), 1)
    ids = chat.generate(prompt, room)
    answer = token_answer(chat, ids) if ids else None
    if answer is None or not answer.text.strip():
        raise InputError(
            phrase("errors.common.answer_name", name=chat.name),
            expected=phrase("errors.models.some_text"),
            got=phrase("errors.models.end_at_once"),
            remedy=phrase("errors.models.answer_or_answer_text"),
        )
    return answer


def token_mismatch(answer: Answer, tokens: Sequence[str]) -> Message | None:
    """Compare an answer with the tokens that another engine wrote; return a note if the borders differ.

    End tokens that the engine reports after the text are ignored.
    """
    ends = np.cumsum([len(token) for token in tokens])
    borders = {int(end) for end in ends if end <= len(answer.text)}
    own = {stop for _, stop in answer.offsets}
    if "".join(tokens).startswith(answer.text) and borders - {0} == own - {0}:
        return None
    return Message.of("cite.note.other_tokens", own=len(answer.ids), written=len(tokens))


def answer_units(answer: Answer, units: str) -> tuple[list[tuple[int, int]], Ints]:
    """Return the (start, stop) of every unit of an answer, and (tokens,) the unit of every token.

    A token belongs to the last unit that begins at or before its first character that is not white space, so every
    token has one.
    """
    if units not in UNITS:
        raise UnknownName("units", units, UNITS)
    spans = sentence_spans(answer.text)
    if units == "word":
        spans = [(word.start(), word.end()) for word in re.finditer(r"\S+", answer.text)]
    if units == "answer":
        spans = [(spans[0][0], spans[-1][1])]
    starts = np.array([start for start, _ in spans])
    owners = np.maximum(np.searchsorted(starts, _first_characters(answer), side="right") - 1, 0)
    present = sorted({int(owner) for owner in owners})
    return [spans[i] for i in present], np.searchsorted(present, owners)


def answer_span(answer: Answer, span: str | Sequence[int] | None) -> tuple[list[tuple[int, int]], Ints]:
    """Return one span of an answer, given as text or (start, stop), and (tokens,) 0 for its tokens, -1 for others.

    None is the whole answer. A token belongs to the span that holds its first character that is not white space.
    """
    start, stop = (0, len(answer.text)) if span is None else _characters(answer.text, span)
    firsts = _first_characters(answer)
    owners = np.array([0 if start <= first < stop else -1 for first in firsts], np.int64)
    if not (owners == 0).any():
        got = phrase("errors.models.part_token", answer=repr(answer.text[start:stop]))
        raise InputError("span", expected=phrase("errors.models.part_answer_in_which_token"), got=got)
    return [(start, stop)], owners


def _characters(text: str, span: str | Sequence[int]) -> tuple[int, int]:
    if isinstance(span, str):
        if not span.strip() or text.count(span) != 1:
            got = (
                phrase("errors.models.places_span", span=text.count(span), span_2=repr(span))
                if span.strip()
                else phrase("errors.common.empty_text")
            )
            raise InputError(
                "span", expected=phrase("errors.models.text_that_stands_in_answer"), got=got, remedy="(start, stop)"
            )
        return text.index(span), text.index(span) + len(span)
    numbers = tuple(span)
    if len(numbers) != 2 or not all(isinstance(number, int) for number in numbers):
        raise InputError("span", expected=phrase("errors.models.text_or_start_stop"), got=repr(span)[:60])
    start, stop = numbers
    if not 0 <= start < stop <= len(text) or not text[start:stop].strip():
        raise InputError(
            "span",
            expected=phrase("errors.models.text_inside", n=len(text)),
            got=phrase("errors.models.to_start", start=start, stop=stop),
        )
    return start, stop


def _first_characters(answer: Answer) -> list[int]:
    """Return for every token its first character that is not white space."""
    firsts = []
    for start, stop in answer.offsets:
        while start < stop - 1 and answer.text[start].isspace():
            start += 1
        firsts.append(start)
    return firsts
