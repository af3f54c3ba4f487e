"""What is said to a person, looked up by key in the catalogue of the language that is spoken.

    with speaking("zh"):
        say("results.title")

Only the edge (a command, `write_report`) chooses the language; whoever says something just says it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

from regard.errors import RegardError

_language: ContextVar[str] = ContextVar("language", default="en")


def language() -> str:
    """The language that is spoken here."""
    return _language.get()


def is_language(name: str) -> bool:
    """Whether there is a catalogue of that language, ours or another package's."""
    try:
        return bool(name and _text(name))
    except RegardError:
        return False


@contextmanager
def speaking(name: str) -> Iterator[None]:
    """Everything said inside the block is said in this language.

    >>> with speaking("zh"):
    ...     say("answer.holds")
    '成立'
    """
    _text(name)  # an unknown language is an error
    token = _language.set(name)
    try:
        yield
    finally:
        _language.reset(token)


def say(key: str, **values: object) -> str:
    """The sentence of that key, its places filled.

    >>> say("answer.fails")
    'fails'
    """
    table, _, name = key.rpartition(".")
    return _sentence(language(), table, name).format(**values)


def _sentence(language: str, table: str, name: str) -> str:
    """In English where a language of another package has no such sentence."""
    try:
        return _table(language, table)[name]
    except KeyError:
        if language == "en":
            raise
        return _table("en", table)[name]


def known(key: str) -> bool:
    """Whether the catalogue has that key: for names that come from elsewhere."""
    return key in catalogue("en")


def count(n: int, noun: str) -> str:
    """
    >>> count(1, "example"), count(2, "example")
    ('1 example', '2 examples')
    """
    return say(f"count.{noun}.{'one' if n == 1 else 'many'}", n=n)


def columns(key: str) -> list[str]:
    """The headings of a table, which are one entry of the catalogue, separated by bars.

    >>> columns("term.heads.pruned_columns")
    ['', 'before', 'after', 'change [95 %]', 'n']
    """
    return say(key).split("|")


@cache
def catalogue(name: str) -> Mapping[str, str]:
    """Every sentence of a language by its dotted key."""
    return dict(_flat(tomllib.loads(_text(name)), ""))


@cache
def _table(language: str, header: str) -> Mapping[str, str]:
    """One table of the catalogue, read alone: `--help` needs forty sentences of fifteen hundred."""
    begin = rf"^\[{re.escape(header)}\]$" if header else r"\A"
    place = re.search(rf"{begin}(.*?)(?=^\[|\Z)", _text(language), re.MULTILINE | re.DOTALL)
    if place is None:
        raise KeyError(header)
    return {key: str(value) for key, value in tomllib.loads(place[1]).items()}


@cache
def _text(language: str) -> str:
    ours = Path(__file__).parent / "languages" / f"{language}.toml"
    if ours.is_file():  # without the registry, which `regard --help` can do without
        return ours.read_text("utf-8")
    from regard.registry import language_file

    return language_file(language).read_text("utf-8")


def _flat(table: Mapping[str, Any], before: str) -> Iterator[tuple[str, str]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", str(value)
