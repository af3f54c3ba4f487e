"""The tokens of an answer: given as text, given as token ids, or generated; with the characters of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.errors import InputError, UnknownName
from regard.measures.sentences import sentence_spans
from regard.models.ask.chat_model import ChatModel
from regard.records import Ints, Message

UNITS = ("sentence", "answer")


@dataclass(frozen=True, slots=True)
class Answer:
    """The text of an answer, its token ids, and the characters (start, stop) of every token."""

    text: str
    ids: tuple[int, ...]
    offsets: tuple[tuple[int, int], ...]
    notes: tuple[Message, ...] = ()


def written_answer(chat: ChatModel, text: str, before: str, prompt: Sequence[int], *, special: bool) -> Answer:
    """Return an answer given as text.

    Its tokens are those after the prompt in the joint text. Where the joint text has other tokens already inside the
    prompt (no model could have written that), the answer is tokenized by itself, and a note says so.
    """
    if not text.strip():
        raise InputError("answer", expected="some text", got="an empty text")
    ids, offsets = chat.tokenize(before + text, special=special)
    count = len(prompt)
    notes: tuple[Message, ...] = ()
    if ids[:count] == list(prompt) and len(ids) > count:
        ids, offsets = ids[count:], [(a - len(before), b - len(before)) for a, b in offsets[count:]]
    else:
        ids, offsets = chat.tokenize(text, special=False)
        notes = (Message("cite.note.joined"),)
    if not ids:
        raise InputError("answer", expected="a text with tokens", got=repr(text[:40]))
    return Answer(text, tuple(ids), tuple(offsets), notes)


def token_answer(chat: ChatModel, ids: Sequence[int]) -> Answer:
    """Return an answer given as token ids, as a model wrote it."""
    native: Any = chat.module
    size = int(native.get_input_embeddings().num_embeddings)
    if not ids or not all(0 <= int(token) < size for token in ids):
        raise InputError("answer", expected=f"token ids from 0 to {size - 1}", got=f"{list(ids)[:5]}")
    tokens = [int(token) for token in ids]
    # a token that ends inside a character reaches up to the last whole one
    ends = [len(_decoded(chat, tokens[: i + 1]).rstrip("\ufffd")) for i in range(len(tokens))]
    ends = np.maximum.accumulate(ends).tolist()
    return Answer(_decoded(chat, tokens), tuple(tokens), tuple(zip([0, *ends[:-1]], ends, strict=True)))


def generated_answer(chat: ChatModel, prompt: Sequence[int], new_tokens: int) -> Answer:
    """Return the model's own greedy answer."""
    room = new_tokens if chat.limit is None else min(new_tokens, chat.limit - len(prompt))
    if room < 1:
        chat.refuse_too_long(len(prompt), 1)
    ids = chat.generate(prompt, room)
    answer = token_answer(chat, ids) if ids else None
    if answer is None or not answer.text.strip():
        raise InputError(
            f"answer of {chat.name}", expected="some text", got="the end at once", remedy="answer=..., or --answer TEXT"
        )
    return answer


def answer_units(answer: Answer, units: str) -> tuple[list[tuple[int, int]], Ints]:
    """Return the (start, stop) of every unit of an answer, and (tokens,) the unit of every token.

    A token belongs to the last unit that begins at or before its first character that is not white space, so every
    token has one.
    """
    if units not in UNITS:
        raise UnknownName("units", units, UNITS)
    spans = sentence_spans(answer.text)
    if units == "answer":
        spans = [(spans[0][0], spans[-1][1])]
    starts = np.array([start for start, _ in spans])
    firsts = []
    for start, stop in answer.offsets:
        while start < stop - 1 and answer.text[start].isspace():
            start += 1
        firsts.append(start)
    owners = np.maximum(np.searchsorted(starts, firsts, side="right") - 1, 0)
    present = sorted({int(owner) for owner in owners})
    return [spans[i] for i in present], np.searchsorted(present, owners)


def _decoded(chat: ChatModel, ids: Sequence[int]) -> str:
    return str(chat.tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False))
