"""The prompt of a chat model: messages or a plain text, rendered by the tokenizer, with character spans kept.

The texts of a prompt are its *fields*: the content of every message, then the text of every document. A span of a field
is found in the rendered text by rendering the conversation a second time with a marker in place of every field, so a
template may trim, reorder or repeat fields; a template that rewrites them is refused if their text cannot be found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from regard.errors import InputError, Unsupported, phrase

FieldSpan = tuple[int, int, int]
"""(field, start, stop) in characters."""
Messages = Sequence[Mapping[str, Any]]

_MARKER = re.compile("\ue000(\\d+)\ue001")
_LIST_MARK = re.compile(r"\s*(?:[-*•·])?\s*")


@dataclass(frozen=True, slots=True)
class Conversation:
    """The fields of a prompt with their roles, and the function that renders them as one text.

    special: whether the tokenizer adds its special tokens to the rendered text (plain text has none yet).
    """

    fields: tuple[str, ...]
    roles: tuple[str, ...]
    render: Callable[[Sequence[str]], str]
    special: bool

    def without(self, spans: Sequence[FieldSpan]) -> Conversation:
        """Delete spans, and lines that would hold only a list mark."""
        fields = list(self.fields)
        for field, start, stop in sorted(spans, reverse=True):
            fields[field] = _cut(fields[field], start, stop)
        return replace(self, fields=tuple(fields))


@dataclass(frozen=True, slots=True)
class Rendered:
    """A rendered prompt, and the places of its fields: (field, start in the field, stop, start in `text`)."""

    text: str
    places: tuple[tuple[int, int, int, int], ...]

    def spans(self, span: FieldSpan) -> list[tuple[int, int]]:
        """Return the places of a field's span in the text: one for most templates, none if it was dropped."""
        field, start, stop = span
        places = []
        for owner, first, last, at in self.places:
            a, b = max(start, first), min(stop, last)
            if owner == field and a < b:
                places.append((at + a - first, at + b - first))
        return places


def plain_text(prompt: str) -> Conversation:
    """Return a prompt without messages."""
    if not prompt.strip():
        raise InputError("prompt", expected=phrase("errors.models.some_text"), got=phrase("errors.common.empty_text"))
    return Conversation((prompt,), ("user",), lambda fields: fields[0], special=True)


def encoder_text(prompt: str | Messages, *, name: str) -> Conversation:
    """Return the text that an encoder reads: a plain one, or the only message, which must be the user's."""
    if not isinstance(prompt, str):
        _check(prompt)
        if len(prompt) > 1 or prompt[0]["role"] != "user":
            got = ", ".join(str(message["role"]) for message in prompt)
            expected = phrase("errors.models.one_text_no_chat")
            raise Unsupported(
                phrase("errors.common.messages_for_model", model=name),
                expected=expected,
                got=got,
                remedy="--prompt TEXT",
            )
        prompt = content_of(prompt[0], 0)
    return replace(plain_text(prompt), roles=("text",))


def conversation(tokenizer: Any, messages: Messages, documents: Messages = (), *, name: str) -> Conversation:
    """Return messages (and documents) that the tokenizer's chat template renders."""
    if not getattr(tokenizer, "chat_template", None):
        raise Unsupported(
            phrase("errors.common.messages_for_model", model=name),
            expected=phrase("errors.models.tokenizer_with_chat_template"),
            got=phrase("errors.common.none"),
            remedy=phrase("errors.models.plain_prompt_prompt_text"),
        )
    _check(messages)
    texts = [content_of(message, i) for i, message in enumerate(messages)]
    passages = [_document_text(document, i) for i, document in enumerate(documents)]
    count = len(texts)

    def render(fields: Sequence[str]) -> str:
        turns = [{**message, "content": text} for message, text in zip(messages, fields[:count], strict=True)]
        left = [turn for turn, whole in zip(turns, texts, strict=True) if turn["content"] or not whole]
        if left and len(left) < len(turns):
            try:
                return apply(left, fields)
            except InputError:  # roles must alternate, say: then an empty message stays
                pass
        return apply(turns, fields)

    def apply(turns: Sequence[Mapping[str, Any]], fields: Sequence[str]) -> str:
        rendered_documents = [
            {**{k: v for k, v in document.items() if k not in ("content", "text")}, "text": text, "content": text}
            for document, text in zip(documents, fields[count:], strict=True)
            if text
        ]
        try:
            extra = {"documents": rendered_documents} if documents else {}
            rendered = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True, **extra)
        except Exception as problem:  # templates are programs of other people
            raise InputError(
                phrase("errors.models.chat_template", name=name),
                expected=phrase("errors.models.render_these_messages"),
                got=str(problem),
            ) from None
        return str(rendered)

    roles = (*(str(message["role"]) for message in messages), *("document" for _ in passages))
    return Conversation((*texts, *passages), roles, render, special=False)


def rendered(prompt: Conversation) -> Rendered:
    """Render a prompt and find its fields in the text."""
    text = prompt.render(prompt.fields)
    if prompt.special:
        return Rendered(text, ((0, 0, len(text), 0),))
    skeleton = prompt.render([f"\ue000{i}\ue001" if field else "" for i, field in enumerate(prompt.fields)])
    places = _by_skeleton(text, skeleton, prompt.fields)
    return Rendered(text, tuple(places if places is not None else _by_search(text, prompt.fields)))


def _by_skeleton(text: str, skeleton: str, fields: Sequence[str]) -> list[tuple[int, int, int, int]] | None:
    """Fill the markers of the skeleton with the fields, whole or trimmed; None if that does not give the text."""
    pieces = _MARKER.split(skeleton)
    if not text.startswith(pieces[0]) or any("\ue000" in field for field in fields):
        return None
    at, places = len(pieces[0]), []
    for number, following in zip(pieces[1::2], pieces[2::2], strict=True):
        field = fields[int(number)]
        for version in (field, field.strip(), field.rstrip(), field.lstrip()):
            if text.startswith(version + following, at):
                start = field.find(version)
                places.append((int(number), start, start + len(version), at))
                at += len(version) + len(following)
                break
        else:
            return None
    return places if at == len(text) else None


def _by_search(text: str, fields: Sequence[str]) -> list[tuple[int, int, int, int]]:
    """Find every field that occurs in the text exactly once."""
    places = []
    for i, field in enumerate(fields):
        bare = field.strip()
        if bare and text.count(bare) == 1:
            start = field.find(bare)
            places.append((i, start, start + len(bare), text.find(bare)))
    return places


def content_of(message: Mapping[str, Any], number: int) -> str:
    """Return the text of a message; parts of type "text" are joined, others are refused."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list | tuple) and all(isinstance(part, Mapping) for part in content):
        kinds = {str(part.get("type")) for part in content} - {"text"}
        if kinds:
            raise Unsupported(
                phrase("errors.models.message_number", number=number + 1), expected="text", got=", ".join(sorted(kinds))
            )
        return "".join(str(part.get("text", "")) for part in content)
    raise InputError(
        phrase("errors.models.message_number", number=number + 1),
        expected=phrase("errors.models.text_content"),
        got=type(content).__name__,
    )


def _document_text(document: Mapping[str, Any], number: int) -> str:
    text = document.get("text", document.get("content")) if isinstance(document, Mapping) else None
    if not isinstance(text, str) or not text.strip():
        raise InputError(
            phrase("errors.models.document_number", number=number + 1),
            expected=phrase("errors.models.some_text_under_text"),
            got=repr(text)[:60],
        )
    return text


def _check(messages: Messages) -> None:
    if isinstance(messages, Mapping) or not isinstance(messages, Sequence) or not messages:
        raise InputError(
            "messages",
            expected=phrase("errors.models.list_messages"),
            got=phrase("errors.common.none") if not messages else phrase("errors.common.something_else"),
        )
    for i, message in enumerate(messages):
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            raise InputError(
                phrase("errors.models.message_number", number=i + 1),
                expected=phrase("errors.models.object_with_role_and_content"),
                got=repr(message)[:60],
            )


def _cut(text: str, start: int, stop: int) -> str:
    """Delete a span from a text, and the lines it leaves empty.

    >>> _cut("- one\\n- two\\n- three", 8, 11), _cut("One. Two. Three.", 5, 9), _cut("[1] one", 4, 7)
    ('- one\\n- three', 'One. Three.', '[1] ')
    """
    line = text.rfind("\n", 0, start) + 1
    end = text.find("\n", stop)
    end = len(text) if end < 0 else end
    if _LIST_MARK.fullmatch(text[line:start] + text[stop:end]):
        return text[:line] + text[end + 1 :]
    if text[start - 1 : start] == " " and text[stop : stop + 1] == " ":
        stop += 1
    return text[:start] + text[stop:]
