"""The tokens of an answer that the decoder of an encoder-decoder model writes: given or generated.

Tokens that the tokenizer or the model adds (start, language, end) are read but never scored: those before the answer
are part of `Answer.before`, the end token is omitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from regard.errors import InputError, phrase
from regard.models.ask.chat_model import ChatModel
from regard.models.chat.answer import Answer, token_answer


def decoder_answer(
    chat: ChatModel, prompt: Sequence[int], answer: str | Sequence[int] | None, *, prefix: str, new_tokens: int
) -> Answer:
    """Return an answer given as text or as token ids, or the model's own greedy one."""
    if isinstance(answer, str):
        return _written(chat, answer, prefix)
    start = _shifted(chat, [0])[:1] if not prefix else _beginning(chat, prefix)
    if answer is None:
        start, answer = _generated(chat, prompt, start if prefix else [], new_tokens)
    special = set(chat.tokenizer.all_special_ids)
    tokens = list(answer)
    while tokens and int(tokens[-1]) in special:
        tokens.pop()
    if not tokens:
        got = phrase("errors.models.end_at_once")
        raise InputError(
            phrase("errors.common.answer_name", name=chat.name),
            expected=phrase("errors.models.some_text"),
            got=got,
            remedy="answer=..., or --answer TEXT",
        )
    return replace(token_answer(chat, tokens), before=tuple(start))


def _written(chat: ChatModel, text: str, prefix: str) -> Answer:
    if not text.strip():
        raise InputError("answer", expected=phrase("errors.models.some_text"), got=phrase("errors.common.empty_text"))
    labels, offsets = _labels(chat, prefix + text)
    inputs, limit = _shifted(chat, labels), len(prefix)
    whole = prefix + text
    scored = [i for i, (a, b) in enumerate(offsets) if b > a and _first_character(whole, a, b) >= limit]
    if not scored:
        raise InputError("answer", expected=phrase("errors.models.text_with_tokens"), got=repr(text[:40]))
    first, last = scored[0], scored[-1]
    spans = tuple((max(0, a - limit), b - limit) for a, b in offsets[first : last + 1])
    return Answer(text, tuple(labels[first : last + 1]), spans, before=tuple(inputs[: first + 1]))


def _beginning(chat: ChatModel, prefix: str) -> list[int]:
    """Return the decoder input before the token that follows a prefix."""
    labels, offsets = _labels(chat, prefix)
    last = max((i for i, (a, b) in enumerate(offsets) if b > a), default=-1)
    return _shifted(chat, [*labels[: last + 1], 0])


def _labels(chat: ChatModel, text: str) -> tuple[list[int], list[tuple[int, int]]]:
    encoding = chat.tokenizer(text_target=text, return_offsets_mapping=True, verbose=False)
    return list(encoding["input_ids"]), [(int(a), int(b)) for a, b in encoding["offset_mapping"]]


def _shifted(chat: ChatModel, labels: Sequence[int]) -> list[int]:
    """Return the decoder input for these labels, shifted as the model itself shifts them."""
    native: Any = chat.module
    table = torch.tensor([list(labels)], device=chat.device)
    return [int(token) for token in native.prepare_decoder_input_ids_from_labels(labels=table)[0]]


def _generated(
    chat: ChatModel, prompt: Sequence[int], start: Sequence[int], new_tokens: int
) -> tuple[list[int], list[int]]:
    """Return the decoder tokens before the greedy answer, and the answer."""
    chat.refuse_too_long(len(prompt), 1)
    begun = {"decoder_input_ids": torch.tensor([list(start)], device=chat.device)} if start else {}
    tokens, special = chat.greedy(prompt, new_tokens, **begun), set(chat.tokenizer.all_special_ids)
    first = max(1, len(start))
    while first < len(tokens) and tokens[first] in special:
        first += 1
    stop = next((i for i in range(first, len(tokens)) if tokens[i] in special), len(tokens))
    return tokens[:first], tokens[first:stop]


def _first_character(text: str, start: int, stop: int) -> int:
    while start < stop - 1 and text[start].isspace():
        start += 1
    return start
