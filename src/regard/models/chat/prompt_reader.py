"""The prompt of a chat model as tokens: whole, or rendered again without some of its sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from regard.errors import InputError, Unsupported, phrase
from regard.models.ask.chat_model import ChatModel
from regard.models.chat.answer import Answer, answer_span, generated_answer, token_answer, written_answer
from regard.models.chat.conversation import Conversation, content_of, conversation, encoder_text, plain_text, rendered
from regard.models.chat.decoder_answer import decoder_answer
from regard.models.chat.sources import Source, rendered_spans, token_sources
from regard.records import Ints


class PromptReader:
    """A prompt as tokens, whole or with sources deleted; owners: (tokens,) the source of every token, -1 for none.

    text_ids: the tokens of `text`; `ids` differ from them where a picture stands in the prompt.
    """

    def __init__(self, chat: ChatModel, prompt: Conversation, sources: Sequence[Source], prefix: str) -> None:
        self.chat, self.prompt, self.sources, self.prefix = chat, prompt, sources, prefix
        self.page = page = rendered(prompt)
        self._appended = "" if chat.encoder_decoder else prefix
        self.text = page.text + self._appended
        self.ids, self.offsets = chat.tokenize(self.text, special=prompt.special)
        self.text_ids = self.ids
        self.owners: Ints = token_sources(self.text, self.offsets, rendered_spans(page, sources))
        for number, source in enumerate(sources):
            if not (self.owners == number).any():
                raise InputError(
                    phrase("errors.models.source_number", number=number + 1, source=repr(source.text[:40])),
                    expected=phrase("errors.models.source_with_at_least_one"),
                    got=phrase("errors.models.part_token_neighbour"),
                )

    def answer(self, given: str | Sequence[int] | None, new_tokens: int) -> Answer:
        """Return the given answer, or the model's own."""
        if self.chat.encoder_decoder:
            return decoder_answer(self.chat, self.ids, given, prefix=self.prefix, new_tokens=new_tokens)
        if given is None:
            return generated_answer(self.chat, self.ids, new_tokens)
        if isinstance(given, str):
            return written_answer(self.chat, given, self.text, self.text_ids, special=self.prompt.special)
        return token_answer(self.chat, given)

    def rival(
        self, reply: Answer, span: tuple[int, int], contrast: str | Sequence[int]
    ) -> tuple[tuple[int, ...], Ints]:
        """Return the tokens of an answer with another text in place of a span, and (tokens,) 0 for those of the text.

        The text after the span is omitted on both sides.
        """
        start = span[0]
        if not isinstance(contrast, str):
            count = int((answer_span(reply, (0, start))[1] == 0).sum()) if reply.text[:start].strip() else 0
            ids = (*reply.ids[:count], *token_answer(self.chat, contrast).ids)
            return ids, np.array([-1] * count + [0] * len(contrast), np.int64)
        if not contrast.strip():
            raise InputError(
                "contrast", expected=phrase("errors.models.some_text"), got=phrase("errors.common.empty_text")
            )
        if contrast == reply.text[start : span[1]]:
            raise InputError(
                "contrast", expected=phrase("errors.models.another_text_than_answer_own"), got=repr(contrast[:40])
            )
        other = self.answer(reply.text[:start] + contrast, 1)
        return other.ids, answer_span(other, (start, start + len(contrast)))[1]

    def without(self, numbers: frozenset[int]) -> list[int]:
        """Return the tokens of the prompt, rendered again without some sources."""
        spans = [span for number in numbers for span in self.sources[number].spans]
        shorter = self.prompt.without(spans)
        return self.chat.tokenize(shorter.render(shorter.fields) + self._appended, special=self.prompt.special)[0]


def prompt_text(
    chat: ChatModel, turns: str | Sequence[Mapping[str, Any]], documents: Sequence[Mapping[str, Any]] = ()
) -> Conversation:
    """Return a plain prompt, or messages and documents, as this model reads them."""
    if chat.encoder_decoder:
        if documents:
            raise Unsupported(
                phrase("errors.models.documents_for_name", name=chat.name),
                expected=phrase("errors.models.one_text"),
                got=phrase("errors.common.encoder_decoder_model"),
            )
        return encoder_text(turns, name=chat.name)
    if isinstance(turns, str):
        return plain_text(turns)
    return conversation(chat.tokenizer, turns, documents, name=chat.name)


def split_answer(
    messages: str | Sequence[Mapping[str, Any]], answer: str | Sequence[int] | None
) -> tuple[str | Sequence[Mapping[str, Any]], str | Sequence[int] | None]:
    """Take the answer from the last message if that is the assistant's."""
    last = messages[-1] if messages and not isinstance(messages, str | Mapping) else None
    if not isinstance(last, Mapping) or last.get("role") != "assistant":
        return messages, answer
    if answer is not None:
        raise InputError(
            "answer",
            expected=phrase("errors.common.one_answer"),
            got=phrase("errors.models.answer_and_messages_that_end"),
        )
    return messages[:-1], content_of(last, len(messages) - 1)
