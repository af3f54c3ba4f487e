"""Sentences for people, looked up by key in the catalogue of the current language.

    with speaking("zh"):
        say("results.title")

Only the edge (a command, `write_report`) chooses the language; all other code just calls `say`.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from regard.errors import RegardError

if TYPE_CHECKING:
    from regard.records import Text

NOUNS = MappingProxyType({"unit": "word", "input": "text"})
"""Default nouns of a message."""

FACTS = (
    "summary",
    "aims",
    "baseline",
    "ceiling",
    "cost",
    "differs",
    "formula",
    "misleads",
    "question",
    "scale",
    "truth",
)
"""Tables of facts about methods: `misleads.metric.gini`. Their English is in the code of the methods."""
PLURAL = re.compile(r"\{(\w+):([^{}|]*)\|([^{}|]*)\}")
"""`{n:example|examples}`: the first word for 1 (or "1"), the second for every other value."""
UNTRANSLATED = ("language",)
"""Kinds whose entries are described in one language: a language in its own."""

_language: ContextVar[str] = ContextVar("language", default="en")


def language() -> str:
    """Current language."""
    return _language.get()


def is_language(name: str) -> bool:
    """Return whether there is a catalogue of that language, ours or another package's."""
    try:
        return bool(name and _text(name))
    except RegardError:
        return False


def languages() -> dict[str, str]:
    """Our languages by their code, each under its own name, English first."""
    return {code: catalogue(code)["language.name"] for code in sorted(_ours(), key=lambda code: (code != "en", code))}


@contextmanager
def speaking(name: str) -> Iterator[None]:
    """Render every message inside the block in this language.

    >>> with speaking("zh"):
    ...     say("answer.holds")
    '是'
    """
    _text(name)  # an unknown language is an error
    token = _language.set(name)
    try:
        yield
    finally:
        _language.reset(token)


ONE_NUMBER = {"judge.undecided_more": "judge.undecided_about"}
"""Sentence about a range -> the one for a range whose ends are equal; stored runs keep the range."""


def say(key: str, /, **values: object) -> str:
    """Render the sentence of a key with its values.

    >>> say("answer.fails")
    'no'
    """
    table, _, name = key.rpartition(".")
    return filled(_sentence(language(), table, name), values)


def filled(sentence: str, values: Mapping[str, object]) -> str:
    """Fill in the placeholders of a sentence.

    >>> [filled("{n} {n:word is|words are} unknown", {"n": n}) for n in (1, 2)]
    ['1 word is unknown', '2 words are unknown']
    """
    return PLURAL.sub(lambda form: form[2 if values[form[1]] in (1, "1") else 3], sentence).format(**values)


def _sentence(language: str, table: str, name: str) -> str:
    """Return the sentence; in English if a language of another package lacks it."""
    try:
        return _table(language, table)[name]
    except KeyError:
        if language == "en":
            raise
        return _table("en", table)[name]


def render(text: Text | Mapping[str, Any], nouns: Mapping[str, str] = NOUNS) -> str:
    """Render a message, or one from JSON, in the current language; plain text stays unchanged.

    >>> from regard.records import Message
    >>> render(Message.of("sentences", parts=["One.", Message("answer.fails")]))
    'One. no'
    """
    if isinstance(text, str):
        return text
    key, params = (text["message"], text.get("params", {})) if isinstance(text, Mapping) else (text.key, text.params)
    nouns = {name: str(params.get(name, noun)) for name, noun in nouns.items()}
    values = {name: _rendered(value, nouns) for name, value in params.items()}
    if key in ONE_NUMBER and params["low"] == params["high"]:
        return say(ONE_NUMBER[key], n=params["low"])
    if key == "sentences":
        return say("joint").join(_rendered(part, nouns) for part in params["parts"])
    if isinstance(params.get("noun"), str):  # of an error about a name: explainer, column
        values["noun"] = say(noun) if known(noun := f"errors.noun.{params['noun']}") else params["noun"]
    if isinstance(params.get("subject"), str) and known(subject := f"errors.subject.{params['subject']}"):
        values["subject"] = say(subject)
    return say(key, **{**values, **_nouns(nouns)})


def rendered(value: Any) -> Any:
    """Render every message in a JSON value, at any depth, as text."""
    if _is_message(value):
        return render(value)
    if isinstance(value, Mapping):
        return {name: rendered(inner) for name, inner in value.items()}
    return [rendered(inner) for inner in value] if isinstance(value, list | tuple) else value


def _rendered(value: Any, nouns: Mapping[str, str]) -> Any:
    """Render the value of a placeholder; numbers stay numbers, because the template formats them."""
    if isinstance(value, list):
        return say("listed").join(str(_rendered(inner, nouns)) for inner in value)
    return render(value, nouns) if _is_message(value) else value


def _is_message(value: object) -> bool:
    from regard.records import is_message  # here: `--help` renders no message and needs no numpy

    return is_message(value)


def _nouns(nouns: Mapping[str, str]) -> dict[str, str]:
    """{"unit": "patch"} -> unit, units, in the current language; a noun without an entry is English."""
    words = {}
    for name, noun in nouns.items():
        for form, plural in ((name, ""), (f"{name}s", "s")):
            words[form] = say(f"noun.{form}.{noun}") if known(f"noun.{form}.{noun}") else noun + plural
    return words


def known(key: str) -> bool:
    """Return whether the catalogue has a key, for names from other packages."""
    table, _, name = key.rpartition(".")
    try:
        return name in _table("en", table)
    except KeyError:
        return False


def id_words(table: str, name: str) -> str:
    """Return the words for an id; an id of another package or version without an entry stays unchanged.

    >>> id_words("similarity", "ngram_overlap"), id_words("attack.access", "white box"), id_words("similarity", "mine")
    ('character n-gram overlap', 'white box', 'mine')
    """
    key = f"{table}.{name.replace(' ', '_')}"
    return say(key) if known(key) else name


def method_words(table: str, name: str, own: object) -> str:
    """Return a fact of a method in the current language, or in its author's words if no catalogue has it.

    >>> method_words("summary.engine", "serial", ""), method_words("summary.engine", "of_a_plug_in", "Runs elsewhere.")
    ('Run one task after another, in this process.', 'Runs elsewhere.')
    """
    try:
        return _sentence(language(), table, name)
    except KeyError:
        return str(own)


def count(n: int, noun: str) -> str:
    """
    >>> count(1, "example"), count(2, "example")
    ('1 example', '2 examples')
    """
    return say(f"count.{noun}.{'one' if n == 1 else 'many'}", n=n)


def columns(key: str) -> list[str]:
    """Headings of a table: one entry of the catalogue, separated by bars.

    >>> columns("term.heads.pruned_columns")
    ['', 'before', 'after', 'change [95 %]', 'n']
    """
    return say(key).split("|")


@cache
def catalogue(name: str) -> Mapping[str, str]:
    """Every sentence of a language by its dotted key; English where another package's language lacks one."""
    own = dict(_flat(tomllib.loads(_text(name)), ""))
    if name == "en":
        own |= {f"{table}.{method}": text for table, texts in _facts().items() for method, text in texts.items()}
    return own if name in _ours() else {**catalogue("en"), **own}


@cache
def _table(language: str, header: str) -> Mapping[str, str]:
    """Read one table of the catalogue alone, because `--help` needs forty sentences of fifteen hundred."""
    if language == "en" and header.partition(".")[0] in FACTS:
        return _facts().get(header, {})
    begin = rf"^\[{re.escape(header)}\]$" if header else r"\A"
    place = re.search(rf"{begin}(.*?)(?=^\[|\Z)", _text(language), re.MULTILINE | re.DOTALL)
    if place is None:
        raise KeyError(header)
    return {key: str(value) for key, value in tomllib.loads(place[1]).items()}


@cache
def _facts() -> Mapping[str, Mapping[str, str]]:
    """Tables of English sentences about our methods, gathered from their code by `make catalogue`."""
    tables: dict[str, dict[str, str]] = {}
    for entry in json.loads((Path(__file__).parents[2] / "catalogue.json").read_text("utf-8")):
        facts = {"summary": entry["summary"], **entry["facts"]}
        for fact in FACTS if entry["kind"] not in UNTRANSLATED else ():
            if isinstance(text := facts.get(fact), str) and text and not _is_method(fact, text):
                tables.setdefault(f"{fact}.{entry['kind']}", {})[entry["name"]] = text
    return tables


def _is_method(fact: str, text: str) -> bool:
    """Return whether a method names the end of a scale: `leave_one_out`, not "1: the rationale itself"."""
    return fact in ("baseline", "ceiling") and text.isidentifier()


@cache
def _ours() -> Mapping[str, Path]:
    """Our catalogues by language. A name from the command line never becomes part of a path."""
    return {path.stem: path for path in (Path(__file__).parent / "languages").glob("*.toml")}


@cache
def _text(language: str) -> str:
    if language in _ours():  # without the registry, which `regard --help` can do without
        return _ours()[language].read_text("utf-8")
    from regard.registry import language_file

    return language_file(language).read_text("utf-8")


def _flat(table: Mapping[str, Any], before: str) -> Iterator[tuple[str, str]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", str(value)
