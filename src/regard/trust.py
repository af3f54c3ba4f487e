"""Trust in code: only the user may name code to run, in this command; stored and shared files may not.

Runs, Specs, policies, templates and model directories travel between people. A method declares which of its parameters
name code (`registry.names_code`); inside `stored_methods` a method whose parameter names code is refused, unless the
user typed that very code or allowed it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from regard.errors import InputError, Text, phrase
from regard.records import Json, Spec


@dataclass(frozen=True, slots=True)
class _Stored:
    """Stored object that names methods. subject: its description. typed: code that the user named in this command."""

    subject: str
    typed: frozenset[str]


_STORED: ContextVar[_Stored | None] = ContextVar("regard_stored_methods", default=None)


@contextmanager
def stored_methods(subject: str, *, typed: Iterable[Spec] = (), allow_code: bool = False) -> Iterator[None]:
    """Run methods named by a stored object; refuse those that name code.

    typed: methods that the user named in this command; the code in them may run.
    """
    code = frozenset(name for spec in typed for name in code_in(spec))
    token = _STORED.set(None if allow_code else _Stored(subject, code))
    try:
        yield
    finally:
        _STORED.reset(token)


def refuse_stored(spec: Spec) -> None:
    """Raise if a stored object names this method and the method names code; `registry.build` checks each call."""
    stored = _STORED.get()
    for name in () if stored is None else code_in(spec):
        if stored is not None and name not in stored.typed:
            raise code_refused(stored.subject, name)


def refuse_code(subject: Text, specs: Iterable[Spec], *, typed: Iterable[Spec] = (), allow_code: bool = False) -> None:
    """Raise if one of these stored Specs names code that the user did not type in this command."""
    if allow_code:
        return
    own = {name for spec in typed for name in code_in(spec)}
    for spec in specs:
        for name in code_in(spec):
            if name not in own:
                raise code_refused(subject, name)


def code_in(spec: Spec) -> list[str]:
    """Return the code that a Spec names, itself or through the methods that its parameters name.

    >>> code_in(Spec("explainer", "given", {"function": "mine.py:f"}))
    ['mine.py:f']
    >>> code_in(Spec("metric", "agreement", {"other": "given:function=mine.py:f"}))
    ['mine.py:f']
    >>> code_in(Spec("explainer", "rollout", {"residual": 0.3}))
    []
    """
    from regard.registry import code_parameters, kinds_of  # the registry asks this module before it calls a method

    own = code_parameters(spec.kind, spec.name)
    paths = [str(spec.params[name]) for name in own if spec.params.get(name)]
    for text in _texts(spec.params):
        name, colon, _ = text.partition(":")
        for kind in kinds_of(name.strip()) if colon else ():
            try:
                paths += code_in(Spec.parse(kind, text))
            except InputError:  # no Spec: nothing can be built from it
                continue
    return paths


def code_refused(subject: Text, code: Text) -> InputError:
    """Build the error for a stored object that names code."""
    return InputError(
        subject,
        expected=phrase("errors.trust.no_code_only_code"),
        got=phrase("errors.trust.name_code", code=code),
        remedy=phrase("errors.trust.read_that_code_if_you"),
    )


def _texts(value: Json | Mapping[str, Json]) -> Iterator[str]:
    """Every text inside a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)
