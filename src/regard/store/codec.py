"""Dataclasses as JSON and back: a record is an object of its fields, a tuple a list, and NaN is null."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from regard.errors import phrase
from regard.records import Json
from regard.store.shapes import FLAG, NUMBER, TEXT, WHOLE, Mismatch, Shape, choice, listed, named

T = TypeVar("T")
_SHAPES: Mapping[Any, Shape] = {str: TEXT, bool: FLAG, int: WHOLE}


def to_json(value: Any) -> Json:
    """Return the JSON form of a record, or of any value that a record may hold.

    >>> from regard.records import Spec
    >>> to_json((Spec("metric", "gini"), float("nan")))
    [{'kind': 'metric', 'name': 'gini', 'params': {}}, None]
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): to_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    result: Json = value
    return result


def fields_to_json(record: Any, *names: str) -> dict[str, Json]:
    """Return the JSON form of some fields or properties of a record, in this order."""
    return {name: to_json(getattr(record, name)) for name in names}


def from_json(kind: type[T], value: Any, place: str = "") -> T:
    """Return the `kind` that `to_json` wrote; raise a `Mismatch` naming the first field that does not fit.

    >>> from regard.records import Spec
    >>> from_json(Spec, {"kind": "metric", "name": "gini"}).name
    'gini'
    >>> from_json(Spec, {"kind": "metric", "name": 3})
    Traceback (most recent call last):
    regard.store.shapes.Mismatch: name: expected a text; got the number 3
    """
    result: T = _decoded(kind, value, place)
    return result


def _decoded(kind: Any, value: Any, place: str) -> Any:
    origin, args = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        return _record(kind, value, place)
    if kind is float:
        if value is not None:
            NUMBER(value, place)
        return math.nan if value is None else float(value)
    if kind in _SHAPES:
        _SHAPES[kind](value, place)
        return value
    if origin is Literal:
        choice(*args)(value, place)
        return value
    if origin in (Union, UnionType) and NoneType in args and len(args) == 2:
        return None if value is None else _decoded(next(a for a in args if a is not NoneType), value, place)
    if origin is tuple:
        return _items(args, value, place)
    if origin is not None and issubclass(origin, Mapping):
        _object(value, place)
        return {name: _decoded(args[1], item, f"{place}.{name}") for name, item in value.items()}
    return value


def _items(kinds: tuple[Any, ...], value: Any, place: str) -> tuple[Any, ...]:
    endless = len(kinds) == 2 and kinds[1] is Ellipsis
    listed(lambda item, where: None, length=None if endless else len(kinds))(value, place)
    return tuple(_decoded(kinds[0 if endless else i], item, f"{place}[{i}]") for i, item in enumerate(value))


def _object(value: Any, place: str) -> None:
    if not isinstance(value, dict):
        raise Mismatch(place, phrase("errors.store.object"), named(value))


@cache
def _kinds(kind: Any) -> dict[str, tuple[Any, bool]]:
    """Field -> its type, and whether it is required."""
    hints = get_type_hints(kind)
    return {
        field.name: (hints[field.name], field.default is MISSING and field.default_factory is MISSING)
        for field in fields(kind)
        if field.init
    }


def _record(kind: Any, value: Any, place: str) -> Any:
    _object(value, place)
    kinds, inside = _kinds(kind), f"{place}." if place else ""
    for name, (_, required) in kinds.items():
        if required and name not in value:
            raise Mismatch(f"{inside}{name}", phrase("errors.common.value"), phrase("errors.common.nothing"))
    for name in value:
        if name not in kinds:
            raise Mismatch(
                f"{inside}{name[:40]}",
                phrase("errors.store.field_kind", kind=kind.__name__),
                phrase("errors.common.another_name"),
            )
    return kind(**{name: _decoded(kinds[name][0], item, f"{inside}{name}") for name, item in value.items()})
