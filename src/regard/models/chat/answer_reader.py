"""A prompt and a given answer in the form a model reads; units are tokens of the prompt, or its sources.

The chat template and the answer itself stay in every variant: they are special units, or belong to no source. Any text
operator removes tokens; a deleted source is deleted from its message, and the template renders the prompt again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regard.errors import InputError, phrase
from regard.models.ask.chat_model import ChatModel
from regard.models.chat.answer import Answer, answer_span, token_answer
from regard.models.chat.prompt_reader import PromptReader, prompt_text, split_answer
from regard.models.chat.sources import find_sources, rendered_spans, token_sources
from regard.models.read.encoded import Item
from regard.models.read.text import TextReader, Tokens, text_arrays, token_units
from regard.records import Bools, Example, Units

NEW_TOKENS = 128
"""Maximum tokens of an answer that the model writes itself."""
SHOWN = 40
"""Maximum characters of a source in the name of its unit."""


@dataclass(frozen=True, slots=True)
class AnswerItem(Item):
    """Encoded prompt and answer, with the prompt's renderer; `aside` holds the answer's tokens."""

    prompt: PromptReader | None = None


@dataclass(slots=True)
class AnswerReader(TextReader):
    """Read examples of `answer_example`. by: "token" or "source", the units. apart: the answer has a decoder."""

    chat: ChatModel | None = None
    by: str = "token"
    apart: bool = False

    @property
    def operators(self) -> tuple[str, ...]:
        """Operators; sources prefer deletion, because a passage of mask tokens is no natural prompt."""
        names = TextReader.operators.fget(self)  # type: ignore[attr-defined]
        return tuple(sorted(names, key=lambda name: name != "delete")) if self.by == "source" else tuple(names)

    def encode(self, example: Example) -> Item:
        assert self.chat is not None
        inputs = example.inputs
        reader = self.prompt(inputs)
        answer = self.answer(inputs, reader)
        aside = self._scored(inputs, answer)
        if self.apart:
            self.chat.refuse_too_long(len(reader.ids), 0)
            tokens, owners = _prompt_tokens(reader), reader.owners
        else:
            self.chat.refuse_too_long(len(reader.ids), len(answer.ids))
            tokens = _with_answer(_prompt_tokens(reader), answer, self.chat)
            owners = np.concatenate([reader.owners, np.full(len(answer.ids) - 1, -1)])
        arrays, n = text_arrays(tokens), len(tokens.ids)
        if self.by == "source":
            units = _source_units(reader)
            return AnswerItem(units, arrays, owners, n, aside, prompt=reader)
        if tokens.special.all():
            raise InputError(
                phrase("errors.common.example_example", example=repr(example.id)),
                expected=phrase("errors.models.prompt_with_words_own"),
                got=phrase("errors.common.none"),
            )
        units = token_units(tokens, (reader.text, ""), self.kind)
        return AnswerItem(units, arrays, np.arange(n), n, aside, prompt=reader)

    def windows(self, example: Example) -> list[Example]:
        """Return the example itself: a prompt that is too long raises an error instead of being cut."""
        return [example]

    def prompt(self, inputs: Mapping[str, Any]) -> PromptReader:
        """Return the rendered prompt of an example, with its sources if they are its units."""
        assert self.chat is not None
        turns, _ = split_answer(inputs["prompt"], None)
        prompt = prompt_text(self.chat, turns, inputs.get("documents") or ())
        sources = inputs.get("sources")
        parts = find_sources(prompt, sources, inputs.get("separator"))[0] if self.by == "source" else []
        return PromptReader(self.chat, prompt, parts, str(inputs.get("prefix") or ""))

    def answer(self, inputs: Mapping[str, Any], reader: PromptReader) -> Answer:
        """Return the answer of an example; `answer_example` has the model write a missing one."""
        assert self.chat is not None
        answer = split_answer(inputs["prompt"], inputs.get("answer"))[1]
        if self.apart and answer is not None:
            return (
                target_answer(self.chat, answer) if isinstance(answer, str) else token_answer(self.chat, list(answer))
            )
        return reader.answer(answer, NEW_TOKENS)

    def remove(self, item: Item, drop: Bools, operator: str, rng: np.random.Generator) -> Item:
        if operator == "delete" and self.by == "source" and isinstance(item, AnswerItem):
            return self._without_sources(item, np.asarray(drop, bool))
        shorter = TextReader.remove(self, item, drop, operator, rng)
        missing = 0 if self.apart else len(item.aside["answer"]) - shorter.length
        return shorter if missing <= 0 else self._started(shorter, missing)

    def _without_sources(self, item: AnswerItem, drop: Bools) -> Item:
        """Delete sources from the messages, and render and tokenize the prompt again."""
        if not drop.any() or item.prompt is None:
            return item
        gone = np.append(drop, False)[item.owner]
        if item.shift is not None:  # noise belongs to tokens, which another rendering might cut otherwise
            return self._deleted(item, gone)
        prompt = item.prompt.without(frozenset(int(i) for i in np.flatnonzero(drop)))
        rest = [] if self.apart else [int(i) for i in item.aside["answer"][:-1]]
        ids = np.array([*prompt, *rest], np.int64)
        # the common case: the tokens of the rest are those of the whole prompt without the source
        same = np.array_equal(ids, item.arrays["input_ids"][~gone])
        owner = item.owner[~gone] if same else np.full(len(ids), -1)
        arrays = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        return replace(item, arrays=arrays, owner=owner, length=len(ids))

    def _deleted(self, item: Item, gone: Bools) -> Item:
        """Cut positions out; units that are sources stay, with fewer positions or none."""
        if self.by == "token":
            return TextReader._deleted(self, item, gone)
        arrays = {name: array[~gone] for name, array in item.arrays.items()}
        shift = None if item.shift is None else item.shift[~gone]
        return replace(item, arrays=arrays, owner=item.owner[~gone], length=int((~gone).sum()), shift=shift)

    def _started(self, item: Item, missing: int) -> Item:
        """Put start tokens before an answer whose whole prompt was deleted: each of its tokens has a row."""
        ids = np.concatenate([np.full(missing, self.alphabet.start), item.arrays["input_ids"]])
        arrays = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        owner = np.concatenate([np.full(missing, -1), item.owner])
        shift = None if item.shift is None else np.pad(item.shift, ((missing, 0), (0, 0)))
        return replace(item, arrays=arrays, owner=owner, length=len(ids), shift=shift)

    def _scored(self, inputs: Mapping[str, Any], answer: Answer) -> dict[str, Any]:
        """Return the answer's tokens, the scored ones, and whether their log-probability is the value."""
        numbers = inputs.get("scored")  # by token, where a span of characters could not tell tokens apart
        if numbers is None:
            scored = answer_span(answer, inputs.get("span"))[1] == 0
        else:
            scored = np.isin(np.arange(len(answer.ids)), numbers)
        plain = bool(inputs.get("log_probability"))
        return {"answer": np.array(answer.ids, np.int64), "scored": scored, "plain": np.array(plain)}


def target_answer(chat: ChatModel, text: str) -> Answer:
    """Return an answer of a decoder behind an encoder, with the end token that the tokenizer puts behind it."""
    if not text.strip():
        raise InputError("answer", expected=phrase("errors.models.some_text"), got=phrase("errors.common.empty_text"))
    encoding = chat.tokenizer(text_target=text, return_offsets_mapping=True, verbose=False)
    return Answer(text, tuple(encoding["input_ids"]), tuple((int(a), int(b)) for a, b in encoding["offset_mapping"]))


def _prompt_tokens(reader: PromptReader) -> Tokens:
    """The tokens of the prompt; those of the template are special."""
    text, page = reader.text, reader.page
    own = token_sources(text, reader.offsets, [[(at, at + last - first) for _, first, last, at in page.places]])
    special = own < 0
    special |= np.isin(reader.ids, reader.chat.tokenizer.all_special_ids)
    spans = [(0, 0) if alien else _bare(text, span) for alien, span in zip(special, reader.offsets, strict=True)]
    raw = reader.chat.tokenizer.convert_ids_to_tokens(list(reader.ids))
    names = [text[a:b] if b > a else str(name) for (a, b), name in zip(spans, raw, strict=True)]
    return Tokens(
        ids=np.array(reader.ids, np.int64),
        spans=tuple(spans),
        special=special,
        part=np.zeros(len(reader.ids), np.int64),
        names=tuple(names),
    )


def _with_answer(prompt: Tokens, answer: Answer, chat: ChatModel) -> Tokens:
    """Put the answer behind the prompt, all but its last token: that one is predicted and never read."""
    rest = list(answer.ids[:-1])
    count = len(prompt.ids) + len(rest)
    return Tokens(
        ids=np.array([*prompt.ids, *rest], np.int64),
        spans=(*prompt.spans, *((0, 0) for _ in rest)),
        special=np.concatenate([prompt.special, np.ones(len(rest), bool)]),
        part=np.zeros(count, np.int64),
        names=(*prompt.names, *(chat.decode([token]).strip() for token in rest)),
    )


def _source_units(reader: PromptReader) -> Units:
    n = len(reader.sources)
    places = [spans[0] for spans in rendered_spans(reader.page, reader.sources)]
    return Units(
        names=tuple(_short(source.text) for source in reader.sources),
        kind="source",
        place_kind="span",
        places=np.array(places, np.float64).reshape(n, 2),
        special=np.zeros(n, bool),
        groups=np.arange(n),
        part=np.zeros(n, np.int64),
        keys=np.full(n, -1),
        shape=(n,),
    )


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"


def _bare(text: str, span: Sequence[int]) -> tuple[int, int]:
    start, stop = span
    while start < stop - 1 and text[start].isspace():
        start += 1
    while stop - 1 > start and text[stop - 1].isspace():
        stop -= 1
    return start, stop
