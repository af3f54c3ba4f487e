"""A sentence as data: the key of a text in the message catalogues, with its values. Imports neither numpy nor torch."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


@dataclass(frozen=True, slots=True)
class Message:
    """A sentence as data: a key of the message catalogues and the values of its placeholders.

    params: numbers, strings, lists, or other messages. `unit` and `input` name the nouns of the sentence ("patch",
    "image"); a message inside another one inherits them.

    >>> Message.of("data.note", name="reviews", note=Message("data.no_labels")).to_json()["params"]
    {'name': 'reviews', 'note': {'message': 'data.no_labels'}}
    """

    key: str
    params: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        params = {name: encoded(value) for name, value in sorted(self.params.items())}
        object.__setattr__(self, "params", MappingProxyType(params))

    @staticmethod
    def of(key: str, **params: Any) -> Message:
        return Message(key, params)

    def __hash__(self) -> int:
        return hash((self.key, json.dumps(dict(self.params), sort_keys=True)))

    def __str__(self) -> str:
        """The words in the current language; `repr` shows the key."""
        from regard.registry import upstairs

        return str(upstairs("render")(self))

    def __reduce__(self) -> tuple[object, ...]:
        return Message, (self.key, dict(self.params))

    def to_json(self) -> dict[str, Any]:
        return {"message": self.key, **({"params": dict(self.params)} if self.params else {})}


Text: TypeAlias = Message | str
"""A message, or a text that no catalogue holds: the words of a foreign exception, a sentence of an older run."""


def joined(sentences: Sequence[Text]) -> Text:
    """Several sentences as one text; "" for none."""
    return Message.of("sentences", parts=list(sentences)) if sentences else ""


def encoded(value: Any) -> Any:
    """Return the value with every message and record in it, at any depth, as JSON."""
    if isinstance(value, Message):
        return value.to_json()
    if is_dataclass(value) and not isinstance(value, type):
        return {part.name: encoded(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, Mapping):
        return {name: encoded(inner) for name, inner in value.items()}
    return [encoded(inner) for inner in value] if isinstance(value, list | tuple) else value


def decoded(value: Any) -> Text:
    """Decode a message or plain text written by `encoded`.

    >>> decoded({"message": "judge.few"})
    Message(key='judge.few', params=mappingproxy({}))
    """
    if isinstance(value, Message):
        return value
    return Message(str(value["message"]), value.get("params", {})) if is_message(value) else str(value)


def to_column(text: Text) -> str:
    """Encode a text for a column of a table: a message as JSON, plain text unchanged.

    >>> to_column("no such file"), to_column(Message("judge.few"))
    ('no such file', '{"message": "judge.few"}')
    """
    return text if isinstance(text, str) else json.dumps(text.to_json(), ensure_ascii=False)


def from_column(text: str) -> Text:
    """Decode a text that `to_column` wrote; anything else is plain text, as older versions stored it.

    >>> from_column(to_column(Message("judge.few"))), from_column("{braces}")
    (Message(key='judge.few', params=mappingproxy({})), '{braces}')
    """
    if not text.startswith('{"message":'):
        return text
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return decoded(value) if is_message(value) else text


def is_message(value: object) -> bool:
    """Return whether a value is a message, or one in JSON."""
    return isinstance(value, Message) or (
        isinstance(value, Mapping) and "message" in value and set(value) <= {"message", "params"}
    )
