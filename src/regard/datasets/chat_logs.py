"""Chats from files: one as JSON, or a log with one per line as JSONL, in the form of OpenAI's chat completions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.errors import InputError, Text, phrase
from regard.files import parse_json, read_json, read_text, reason


@dataclass(frozen=True, slots=True)
class Chat:
    """Messages, documents and answer of one completion; the answer is None if the record has none.

    tokens: tokens of the answer in the engine's spelling, if the record has `logprobs`.
    """

    name: str
    messages: Sequence[Mapping[str, Any]]
    documents: Sequence[Mapping[str, Any]]
    answer: str | None
    tokens: tuple[str, ...] | None = None


def read_chats(path: Path) -> list[Chat]:
    """Return the chat of a .json file, or every chat of a .jsonl file.

    A chat is a list of messages, or an object: its request holds `messages` (and `documents`), at the top or under
    `request` or `body`; its answer is `answer`, or the first of `choices`, at the top or under `response`.
    """
    if path.suffix != ".jsonl":
        return [chat_of(read_json(path), path.name)]
    chats = [chat_of(record, f"{path.name}, line {number}", subject) for number, subject, record in json_lines(path)]
    if not chats:
        raise InputError(
            phrase("errors.common.file_place", place=path.name),
            expected=phrase("errors.datasets.one_chat_per_line"),
            got=phrase("errors.datasets.empty_file"),
        )
    return chats


def json_lines(path: Path) -> Iterator[tuple[int, Text, Any]]:
    """Yield number, name in errors, and value of every non-empty line of a .jsonl file."""
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if line.strip():
            subject = phrase("errors.common.line_path", path=path.name, number=number)
            try:
                yield number, subject, parse_json(line)
            except ValueError as error:
                raise InputError(subject, expected="JSON", got=reason(error)) from None


def chat_of(record: Any, name: str, subject: Text = "") -> Chat:
    """Return the chat of one record; subject: its description in errors, used as the name if that is empty."""
    if isinstance(record, list):
        return Chat(name, record, (), None)
    objects = [record] if isinstance(record, dict) else []
    for outer in list(objects):
        objects += [outer[key] for key in ("request", "body", "response") if isinstance(outer.get(key), dict)]
    objects += [part["body"] for part in objects[1:] if isinstance(part.get("body"), dict)]
    messages = next((part["messages"] for part in objects if isinstance(part.get("messages"), list)), None)
    if messages is None:
        expected = phrase("errors.datasets.list_messages_or_object_with_messages")
        raise InputError(
            subject or name, expected=expected, got=phrase("errors.datasets.json_type", type=type(record).__name__)
        )
    documents: Any = next((part["documents"] for part in objects if part.get("documents")), [])
    if not isinstance(documents, list):
        raise InputError(
            subject or name,
            expected=phrase("errors.datasets.list_documents"),
            got=phrase("errors.datasets.json_type", type=type(documents).__name__),
        )
    answer = next((text for part in objects if (text := _answer(part)) is not None), None)
    tokens = next((tokens for part in objects if (tokens := _tokens(part)) is not None), None)
    return Chat(name, messages, documents, answer, tokens)


def _tokens(part: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the tokens of the first choice, from its log-probabilities."""
    choices = part.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    log_probabilities = first.get("logprobs") if isinstance(first, dict) else None
    content = log_probabilities.get("content") if isinstance(log_probabilities, dict) else None
    if not isinstance(content, list) or not all(isinstance(step, dict) for step in content):
        return None
    tokens = [step.get("token") for step in content]
    return tuple(map(str, tokens)) if tokens and all(isinstance(token, str) for token in tokens) else None


def _answer(part: Mapping[str, Any]) -> str | None:
    if isinstance(part.get("answer"), str):
        return str(part["answer"])
    choices = part.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, str) else None
