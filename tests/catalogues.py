"""The English catalogue with every message changed: reversed, or in brackets. Placeholders stay."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from regard.present.messages import messages

PLACEHOLDER = re.compile(r"(\{[^{}]*\})")


def backwards(text: str) -> str:
    """
    >>> backwards("{n} of many")
    '{n}ynam fo '
    """
    return "".join(part if PLACEHOLDER.fullmatch(part) else part[::-1] for part in PLACEHOLDER.split(text))


def bracketed(text: str) -> str:
    """
    >>> bracketed("{n} of many|n")
    '⟦{n} of many⟧|⟦n⟧'
    """
    return "|".join(f"⟦{part}⟧" for part in text.split("|"))


def changed(text: str, change: Callable[[str], str]) -> str:
    """The TOML text of a catalogue with every value changed."""
    return "\n".join(_table("", tomllib.loads(text), change)) + "\n"


def _table(name: str, table: dict[str, Any], change: Callable[[str], str]) -> Iterator[str]:
    if name:
        yield f"[{name}]"
    for key, value in table.items():
        if not isinstance(value, dict):
            yield f"{key} = {json.dumps(change(str(value)), ensure_ascii=False)}"
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _table(f"{name}.{key}" if name else key, value, change)


@contextmanager
def catalogue_changed(change: Callable[[str], str]) -> Iterator[None]:
    """Every message of this process in changed English."""
    plain, caches = messages._text, (messages.catalogue, messages._table)
    english = changed(plain("en"), change)
    messages._text = lambda language: english if language == "en" else plain(language)  # type: ignore[assignment]
    try:
        for function in caches:
            function.cache_clear()
        yield
    finally:
        messages._text = plain
        for function in caches:
            function.cache_clear()
