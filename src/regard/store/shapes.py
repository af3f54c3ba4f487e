"""Validators of stored JSON.

A shape is a function of a value and its place; it raises `Mismatch` at the first field that does not fit. Records may
have unknown keys, so that an older version can read the files of a newer one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from regard.errors import RegardError, Text, phrase

Shape = Callable[[Any, str], None]
DEEPEST = 64
"""Maximum levels of nesting; regard itself writes at most ten."""
_LARGEST = 2**63


class Mismatch(ValueError):
    """A stored value of the wrong shape; `place` is the path of the field."""

    def __init__(self, place: str, expected: Text, got: Text) -> None:
        super().__init__(place, expected, got)
        self.place, self.expected, self.got = place, expected, got

    def __str__(self) -> str:
        return str(RegardError(self.place, expected=self.expected, got=self.got))


def decoded(text: object, place: str = "") -> Any:
    """Parse JSON or raise a `Mismatch`; a column of a database may hold any type.

    >>> decoded('{"n": [1, 2]}')
    {'n': [1, 2]}
    """
    if not isinstance(text, str | bytes):
        raise Mismatch(place, "JSON", named(text))
    try:
        value = json.loads(text)
        _depth(value, DEEPEST)
    except UnicodeDecodeError as error:
        raise Mismatch(
            place, "UTF-8", phrase("errors.store.byte_at_start", object=error.object[error.start], start=error.start)
        ) from error
    except ValueError as error:  # also an integer of more digits than Python reads
        raise Mismatch(place, "JSON", str(error)[:120]) from error
    except RecursionError as error:
        raise Mismatch(
            place, phrase("errors.store.json_at_most_levels", deepest=DEEPEST), phrase("errors.store.deeper_nesting")
        ) from error
    return value


_LINE_ENDS = {ord(sign): f"\\u{ord(sign):04x}" for sign in "\x85\u2028\u2029"}


def line_of(value: Any) -> bytes:
    """Serialize a JSON value as one line, whatever its texts contain.

    Escapes replace characters that some readers treat as line ends, and characters that UTF-8 cannot encode.

    >>> line_of({"text": "a\u2028b"})
    b'{"text": "a\\\\u2028b"}\\n'
    """
    text = json.dumps(value, ensure_ascii=False).translate(_LINE_ENDS) + "\n"
    try:
        return text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return (json.dumps(value) + "\n").encode()


def _depth(value: Any, left: int) -> None:
    if not isinstance(value, dict | list):
        return
    if not left:
        raise RecursionError
    for part in value.values() if isinstance(value, dict) else value:
        _depth(part, left - 1)


def named(value: Any) -> Text:
    """Describe a JSON value, with the value itself if it is short.

    >>> [str(named(value)) for value in (None, [1], "ab", True, 2.5)]
    ['null', 'a list', 'the text "ab"', 'true', 'the number 2.5']
    """
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, str):
        return phrase("errors.common.text_what", what=json.dumps(value[:40], ensure_ascii=False))
    if isinstance(value, int | float):
        return (
            phrase("errors.store.number_value", value=value)
            if abs(value) < 1e300
            else phrase("errors.store.huge_number")
        )
    return phrase("errors.common.list") if isinstance(value, list | tuple) else phrase("errors.store.object")


def _plain(words: Text, fits: Callable[[Any], bool]) -> Shape:
    def shape(value: Any, place: str) -> None:
        if not fits(value):
            raise Mismatch(place, words, named(value))

    return shape


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -_LARGEST <= value < _LARGEST


ANYTHING: Shape = _plain(phrase("errors.store.any_value"), lambda value: True)
TEXT: Shape = _plain(phrase("errors.common.text"), lambda value: isinstance(value, str))
FLAG: Shape = _plain(phrase("errors.common.true_or_false"), lambda value: isinstance(value, bool))
WHOLE: Shape = _plain(phrase("errors.common.whole_number"), _is_whole)
COUNT: Shape = _plain(phrase("errors.store.whole_number_not_negative"), lambda value: _is_whole(value) and value >= 0)
NUMBER: Shape = _plain(
    phrase("errors.store.finite_number"),
    lambda value: _is_number(value) and abs(value) < 1e300 and math.isfinite(value),
)
NUMBER_OR_NAN: Shape = _plain(
    phrase("errors.common.number"), lambda value: _is_number(value) and (value != value or abs(value) < 1e300)
)
SCALAR: Shape = _plain(
    phrase("errors.store.text_number_true_false"),
    lambda value: value is None or isinstance(value, str | bool) or (_is_number(value) and abs(value) < 1e300),
)


def choice(*texts: str) -> Shape:
    """Check that a value is one of these texts."""
    return _plain(
        phrase("errors.common.one_allowed", allowed=", ".join(texts)),
        lambda value: isinstance(value, str) and value in texts,
    )


def optional(shape: Shape) -> Shape:
    """The shape, or null."""

    def check(value: Any, place: str) -> None:
        if value is not None:
            shape(value, place)

    return check


def listed(shape: Shape, *, length: int | None = None) -> Shape:
    """A list whose items have the shape."""
    words = phrase("errors.common.list") if length is None else phrase("errors.store.list_n", n=length)

    def check(value: Any, place: str) -> None:
        if not isinstance(value, list) or (length is not None and len(value) != length):
            actual = named(value) if not isinstance(value, list) else phrase("errors.store.list_n", n=len(value))
            raise Mismatch(place, words, actual)
        for i, item in enumerate(value):
            shape(item, f"{place}[{i}]")

    return check


def row(*shapes: Shape) -> Shape:
    """A list of fixed length, each item with its own shape."""

    def check(value: Any, place: str) -> None:
        listed(ANYTHING, length=len(shapes))(value, place)
        for i, (item, shape) in enumerate(zip(value, shapes, strict=True)):
            shape(item, f"{place}[{i}]")

    return check


def table(shape: Shape) -> Shape:
    """An object whose values have the shape, whatever their names."""

    def check(value: Any, place: str) -> None:
        if not isinstance(value, dict):
            raise Mismatch(place, phrase("errors.store.object"), named(value))
        for name, item in value.items():
            shape(item, _inside(place, name))

    return check


def record(required: Mapping[str, Shape], maybe: Mapping[str, Shape] | None = None) -> Shape:
    """An object with these fields; those in `maybe` may be missing, others are ignored."""
    shapes = {**required, **(maybe or {})}

    def check(value: Any, place: str) -> None:
        if not isinstance(value, dict):
            raise Mismatch(place, phrase("errors.store.object"), named(value))
        for name, shape in shapes.items():
            if name in value:
                shape(value[name], _inside(place, name))
            elif name in required:
                raise Mismatch(_inside(place, name), phrase("errors.common.value"), phrase("errors.common.nothing"))

    return check


def _inside(place: str, name: str) -> str:
    short = name if len(name) <= 40 else name[:37] + "..."
    return f"{place}.{short}" if place else short


def either(first: Shape, second: Shape) -> Shape:
    """The first shape or the second; a mismatch reports the second."""

    def check(value: Any, place: str) -> None:
        try:
            first(value, place)
        except Mismatch:
            second(value, place)

    return check
