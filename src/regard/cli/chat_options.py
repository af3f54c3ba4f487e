"""Options of a command that takes a prompt with an answer: a chat from a file or a plain prompt."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from regard.errors import InputError, phrase
from regard.files import exists, read_json

F = TypeVar("F", bound=Callable[..., Any])
_NAMES = ("messages", "prompt", "answer", "span", "contrast", "sources", "separator", "prefix")


def answer_options(function: F) -> F:
    """Add the options of a prompt with an answer, which `answer_record` gathers."""
    for name in reversed(_NAMES):
        metavar = "FILE" if name == "messages" else None
        option = click.option(f"--{name}", name, expose_value=False, callback=_remember, metavar=metavar)
        function = option(function)
    return function


def answer_record() -> dict[str, Any] | None:
    """Return the prompt and answer as `regard.explain` takes them; None without --messages and --prompt."""
    meta = click.get_current_context().meta
    values = {name: meta.get(f"regard.chat.{name}") for name in _NAMES}
    messages, prompt = values["messages"], values["prompt"]
    if messages is None and prompt is None:
        alone = [f"--{name}" for name, value in values.items() if value is not None]
        if alone:
            raise InputError(
                ", ".join(alone),
                expected=phrase("errors.cli.messages_file_or_prompt_text"),
                got=phrase("errors.common.neither"),
            )
        return None
    if messages is not None and prompt is not None:
        raise InputError(
            "explain", expected=phrase("errors.cli.messages_file_or_prompt_text_b"), got=phrase("errors.common.both")
        )
    record: dict[str, Any] = {
        "contrast": values["contrast"],
        "sources": source_list(values["sources"]),
        "separator": values["separator"],
        "prefix": values["prefix"],
        "answer": values["answer"],
    }
    if messages is None:
        return {**record, "span": characters(values["span"], values["answer"]), "prompt": prompt}
    from regard.datasets.chat_logs import read_chats

    chats = read_chats(Path(messages))
    if len(chats) > 1:
        raise InputError("--messages", expected=phrase("errors.cli.one_chat"), got=f"{len(chats)}")
    if values["answer"] is not None and chats[0].answer is not None:
        raise InputError(
            "--answer", expected=phrase("errors.common.one_answer"), got=phrase("errors.cli.another_in_file_messages")
        )
    answer = values["answer"] if values["answer"] is not None else chats[0].answer
    prompt_parts = {"messages": chats[0].messages, "documents": chats[0].documents}
    return {**record, **prompt_parts, "span": characters(values["span"], answer), "answer": answer}


def characters(span: str | None, answer: str | None) -> str | tuple[int, int] | None:
    """Return START:STOP as two numbers, and any other text as it is; "7:40" of an answer that holds it is a text."""
    numbers = re.fullmatch(r"(\d+):(\d+)", span or "")
    in_answer = span is not None and span in (answer or "")
    return (int(numbers[1]), int(numbers[2])) if numbers and not in_answer else span


def source_list(sources: str | None) -> Any:
    """Return the name of a split, or the list in a JSON file."""
    return read_json(Path(sources)) if sources is not None and exists(sources) else sources


def _remember(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    context.meta[f"regard.chat.{parameter.name}"] = value
