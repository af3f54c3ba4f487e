"""The English catalogue with every message changed: reversed, or in brackets. Placeholders stay."""

from __future__ import annotations

import ast
import json
import re
import textwrap
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from regard.present.messages import messages
from regard.registry import ROOMS, entry, names

PLACEHOLDER = re.compile(r"(\{\{|\}\}|\{[^{}]*\})")
"""A place to fill in, or a doubled brace, which stands for itself."""
VALUE = re.compile(r"\{\w*(:[^{}|]*)?\}")
"""A placeholder without words of its own."""
BAR = re.compile(r"\|(?![^{}]*\})")
"""A bar between columns, not one between singular and plural."""
LONG = 7
"""Letters of a word that is found inside another one: reversed sentences lose spaces beside a plural form."""
SOURCE = Path(messages.__file__).parents[2]
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


def single_words(text: str, data: str = "") -> set[str]:
    """Return the words outside of brackets that are neither in the data nor a name that is the same everywhere.

    >>> single_words("⟦Drop of {x}⟧ drop film rollout", "a film")
    {'drop'}
    """
    while text != (text := re.sub(r"⟦[^⟦⟧]*⟧", " ", text)):
        pass
    alone = r"(?<![\w.-])[A-Za-z]{2,}(?![\w.=-])"
    return set(re.findall(alone, text)) - set(re.findall(r"[A-Za-z]+", data)) - NAMES - _method_names()


NAMES = {"delete", "mask", "resample", "mean", "interpolate", "blur"}  # operators
NAMES |= {
    "classification",
    "standard",
    "regard",
    "python",
    "cpu",
    "numpy",
    "pyarrow",
    "safetensors",
    "torch",
    "transformers",
}
"""Names that users type, and of packages."""


@cache
def _method_names() -> frozenset[str]:
    """Return the names of methods and of their parameters."""
    entries = [entry(kind, name) for kind in ROOMS for name in names(kind)]
    return frozenset(name for row in entries for name in (row.name, *(p.name for p in row.parameters)))


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


@dataclass(frozen=True)
class Comparison:
    """Texts of a failed comparison: what a test expected, and the values that it compared."""

    expected: str
    actual: str

    @property
    def wording(self) -> bool:
        """Whether an expected word of the catalogue, or a whole expected text, stands reversed among the values.

        >>> Comparison("no such file", "elif hcus on").wording, Comparison("2", "elif hcus on").wording
        (True, False)
        """
        words = set(re.findall(r"[A-Za-z]{3,}", self.expected)) & english_words()
        known = set(re.findall(r"[A-Za-z]{3,}", self.actual))
        if any(word[::-1] in (self.actual if len(word) >= LONG else known) for word in words):
            return True
        whole = (text for text in self.expected.splitlines() if len(text) >= LONG and text != text[::-1])
        return any(text[::-1] in self.actual for text in whole)


def compares_wording(failure: pytest.ExceptionInfo[BaseException], report: str) -> bool:
    """Whether a failed test compared texts, and expected a word that the reversed catalogue holds reversed.

    Never for another exception than a failed assertion, for an assertion of the package, for an exception that was not
    raised, for an assertion without a text to compare, or where the numbers of a doctest differ.
    """
    explanation = "\n".join(line[1:] for line in report.splitlines() if line.startswith("E "))
    if "DocTest" in failure.typename:
        return doctest_wording(report)
    if shown := re.search(r"remains unmatched: '(.*)'", explanation):  # lines that a run of pytest prints
        return Comparison(shown[1], explanation).wording
    if failure.errisinstance(pytest.fail.Exception) or not failure.errisinstance(AssertionError):
        return False
    if shown := re.search(r"Expected regex: (.*?)\n\s*Actual message: (.*)", explanation, re.DOTALL):
        return Comparison(shown[1], shown[2]).wording
    if shown := re.search(r"assert (['\"])(.*?)\1 (?:in|==) (['\"])(.*)\3", explanation):  # both sides, as evaluated
        return Comparison(shown[2], shown[4]).wording
    last = failure.traceback[-1]
    if SOURCE in Path(str(last.path)).parents:
        return False
    compared = asserted(str(last.statement), last.frame.f_locals)
    return replace(compared, actual=f"{compared.actual}\n{explanation}").wording


def doctest_wording(report: str) -> bool:
    """Whether a doctest got other words, and the same digits.

    >>> doctest_wording("Expected:\\n    'n = 80'\\nGot:\\n    ' = n80'\\n")
    True
    >>> doctest_wording("Expected:\\n    2 examples\\nGot:\\n    3 selpmaxe\\n")
    False
    """
    shown = re.search(r"^Expected:\n(.*?)^Got:\n(.*?)(?=^\S|\Z)", report, re.MULTILINE | re.DOTALL)
    if shown is None:
        return False
    expected, actual = shown.groups()
    letters, digits = ([sorted(re.findall(kind, part)) for part in (expected, actual)] for kind in (r"\S", r"\d"))
    return digits[0] == digits[1] and (letters[0] == letters[1] or Comparison(expected, actual).wording)


def asserted(statement: str, values: Mapping[str, Any]) -> Comparison:
    """Return the texts that an assertion compares: constants and variables that hold texts, without keys and messages.

    >>> asserted("assert 'no file' in printed(3, rows), page", {"rows": [5], "page": "a file"})
    Comparison(expected='no file', actual='[5]')
    >>> asserted("assert rows['file'] == 2", {"rows": {"file": 3}})
    Comparison(expected='', actual="{'file': 3}")
    """
    try:
        node = ast.parse(textwrap.dedent(statement).strip()).body[0]
    except SyntaxError:
        return Comparison("", "")
    if not isinstance(node, ast.Assert):
        return Comparison("", "")
    keys = {
        id(part) for inner in ast.walk(node.test) if isinstance(inner, ast.Subscript) for part in ast.walk(inner.slice)
    }
    parts = [part for part in ast.walk(node.test) if id(part) not in keys]
    names = [part.id for part in parts if isinstance(part, ast.Name) and part.id in values]
    constants = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    texts = [text for name in names for text in texts_in(values[name])]
    return Comparison("\n".join([*constants, *texts]), "\n".join(shown_value(values[name]) for name in names))


def texts_in(value: Any) -> list[str]:
    """Return a text, or the texts of a collection."""
    inner = value if isinstance(value, list | tuple | set | frozenset) else [value]
    return [text for text in inner if isinstance(text, str)]


def shown_value(value: Any) -> str:
    """Return a value as text; of the result of a command, its output."""
    return str(getattr(value, "output", value))
