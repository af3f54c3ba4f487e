"""The English catalogue with every message changed: reversed, or in brackets. Placeholders stay."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from regard.present.messages import messages

PLACEHOLDER = re.compile(r"(\{\{|\}\}|\{[^{}]*\})")
"""A place to fill in, or a doubled brace, which stands for itself."""
VALUE = re.compile(r"\{\w*(:[^{}|]*)?\}")
"""A placeholder without words of its own."""
BAR = re.compile(r"\|(?![^{}]*\})")
"""A bar between columns, not one between singular and plural."""
LONG = 7
"""Letters of a word that is found inside another one: reversed sentences lose spaces beside a plural form."""
ENGLISH = Path(messages.__file__).parent / "languages" / "en.toml"


def backwards(text: str) -> str:
    """
    >>> backwards("{n} of many"), backwards("{n:cat|cats}"), backwards("as {{id}}")
    ('{n}ynam fo ', '{n:tac|stac}', ' sa{{di}}')
    """
    parts = (part if PLACEHOLDER.fullmatch(part) else part[::-1] for part in PLACEHOLDER.split(text))
    return messages.PLURAL.sub(lambda form: f"{{{form[1]}:{form[2][::-1]}|{form[3][::-1]}}}", "".join(parts))


def bracketed(text: str) -> str:
    """
    >>> bracketed("{n} of many|n"), bracketed("{n:cat|cats}")
    ('⟦{n} of many⟧|⟦n⟧', '⟦{n:cat|cats}⟧')
    """
    return "|".join(f"⟦{part}⟧" for part in BAR.split(text))


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
    plain, facts, caches = messages._text, messages._facts, (messages.catalogue, messages._table)
    english = changed(plain("en"), change)
    methods = {table: {name: change(text) for name, text in texts.items()} for table, texts in facts().items()}

    def text(language: str) -> str:
        return english if language == "en" else plain(language)

    text.cache_clear = plain.cache_clear  # type: ignore[attr-defined]
    messages._text = text  # type: ignore[assignment]
    messages._facts = lambda: methods  # type: ignore[assignment]
    try:
        for function in caches:
            function.cache_clear()
        yield
    finally:
        messages._text, messages._facts = plain, facts
        for function in caches:
            function.cache_clear()


@cache
def english_words() -> frozenset[str]:
    """Words of the English catalogue that differ from their reversal."""
    words = set(re.findall(r"[A-Za-z]{3,}", VALUE.sub(" ", ENGLISH.read_text("utf-8"))))
    return frozenset(word for word in words if word != word[::-1])


def compares_wording(failure: str) -> bool:
    """Whether a failed assertion expected an English word of the catalogue and got the same word reversed.

    A doctest also where it got the letters that it expected in another order.

    >>> compares_wording("assert 'no such file' in 'elif hcus on'"), compares_wording("assert 2 == 0")
    (True, False)
    >>> compares_wording("expected 'examples', got '2 selpmaxesnoitnetta'")
    True
    >>> compares_wording("Expected:\\n    'n = 80'\\nGot:\\n    ' = n80'\\n")
    True
    """
    if shown := re.search(r"^Expected:\n(.*?)^Got:\n(.*?)(?=^\S|\Z)", failure, re.MULTILINE | re.DOTALL):
        expected, got = (sorted("".join(part.split())) for part in shown.groups())
        if expected == got:
            return True
    words = set(re.findall(r"[A-Za-z]{3,}", failure))
    return any(word[::-1] in (failure if len(word) >= LONG else words) for word in words & english_words())


def failure_text(failure: pytest.ExceptionInfo[BaseException], report: str) -> str:
    """The texts that a failed assertion compared; "" for an exception of any other kind, which is never about words."""
    if not failure.errisinstance((AssertionError, pytest.fail.Exception)) and "DocTest" not in failure.typename:
        return ""
    last = failure.traceback[-1]
    statement = str(last.statement)
    values = {name: last.frame.f_locals.get(name) for name in re.findall(r"[a-z_]\w*", statement)}
    outputs = [str(getattr(value, "output", value)) for value in values.values()]
    return "\n".join([report, statement, *outputs])
