"""Prompts with sources for answer audits: lines of a .jsonl file, or records in Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.datasets.chat_logs import chat_of, json_lines
from regard.datasets.planted_answers import PlantedAnswer
from regard.errors import InputError, Text, phrase


@dataclass(frozen=True, slots=True)
class AnswerPrompt:
    """A chat or a plain prompt with its sources. answer: None lets the model write one.

    sources, separator, documents, prefix: as `regard.cite` takes them. truth: the sources that the answer comes from,
    by number from 0, if known.
    """

    id: str
    messages: str | Sequence[Mapping[str, Any]]
    answer: str | None = None
    sources: str | Sequence[Any] | None = None
    separator: str | None = None
    documents: Sequence[Mapping[str, Any]] = ()
    prefix: str = ""
    truth: tuple[int, ...] | None = None


def read_answer_prompts(path: Path) -> list[AnswerPrompt]:
    """Return the prompts of a .jsonl file, one object per line."""
    prompts = [answer_prompt(record, str(number), subject) for number, subject, record in json_lines(path)]
    return _named_apart(prompts, path.name)


def answer_prompts(records: Sequence[Any]) -> list[AnswerPrompt]:
    """Return prompts from Python: mappings as in a file, planted answers, or `AnswerPrompt`s."""
    prompts = [
        answer_prompt(record, str(i + 1), phrase("errors.common.prompt_prompt", prompt=i + 1))
        for i, record in enumerate(records)
    ]
    return _named_apart(prompts, "prompts")


def answer_prompt(record: Any, name: str, subject: Text) -> AnswerPrompt:
    """Return one prompt. name: its id if the record has none. subject: its description in errors."""
    if isinstance(record, AnswerPrompt):
        return record
    if isinstance(record, PlantedAnswer):
        return AnswerPrompt(
            id=f"{record.kind}-{name}",
            messages=record.messages,
            answer=record.answer,
            sources=record.passages,
            prefix=record.prefix,
            truth=tuple(sorted(set().union(*record.gold))),
        )
    if not isinstance(record, Mapping):
        raise InputError(
            subject, expected=phrase("errors.datasets.object_with_messages_or_prompt"), got=type(record).__name__
        )
    plain = record.get("prompt")
    if plain is not None and not isinstance(plain, str):
        raise InputError(subject, expected=phrase("errors.datasets.text_prompt"), got=type(plain).__name__)
    chat = chat_of(dict(record), name, subject) if plain is None else None
    messages = chat.messages if chat is not None else plain or ""
    return AnswerPrompt(
        id=str(record.get("id", name)),
        messages=messages,
        answer=_text(record, "answer", subject) if chat is None else chat.answer,
        sources=record.get("sources"),
        separator=_text(record, "separator", subject),
        documents=() if chat is None else chat.documents,
        prefix=_text(record, "prefix", subject) or "",
        truth=_truth(record.get("source"), subject),
    )


def _text(record: Mapping[str, Any], key: str, subject: Text) -> str | None:
    value = record.get(key)
    if value is not None and not isinstance(value, str):
        raise InputError(
            phrase("errors.common.of_key", key=key, subject=subject),
            expected=phrase("errors.common.text"),
            got=type(value).__name__,
        )
    return value


def _truth(value: Any, subject: Text) -> tuple[int, ...] | None:
    if value is None:
        return None
    numbers = value if isinstance(value, list | tuple) else [value]
    if not all(isinstance(number, int) and not isinstance(number, bool) and number >= 0 for number in numbers):
        raise InputError(
            phrase("errors.datasets.source_subject", subject=subject),
            expected=phrase("errors.datasets.source_numbers"),
            got=repr(value)[:60],
        )
    return tuple(numbers)


def _named_apart(prompts: list[AnswerPrompt], subject: str) -> list[AnswerPrompt]:
    if not prompts:
        raise InputError(
            phrase("errors.common.data_path", path=subject),
            expected=phrase("errors.datasets.at_least_one_prompt"),
            got=phrase("errors.common.none"),
        )
    names = [prompt.id for prompt in prompts]
    twice = next((name for name in names if names.count(name) > 1), None) if len(set(names)) < len(names) else None
    if twice is not None:
        raise InputError(
            phrase("errors.common.data_path", path=subject),
            expected=phrase("errors.datasets.different_id_for_every_prompt"),
            got=phrase("errors.common.twice_twice", twice=repr(twice)),
        )
    return prompts
