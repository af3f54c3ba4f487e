"""Settings that distinguish columns of numbers: the chosen setting, the other method, the part of the data."""

from __future__ import annotations

from collections.abc import Mapping

from regard.records import Json

Setting = tuple[tuple[str, str], ...]
OTHER = ("other", "with", "against", "reference")
"""Names under which a metric says which other method it compares with."""
PARTS = ("class", "slice")
"""Names under which a summary says that it is about some of the examples only."""


def setting(where: Mapping[str, Json]) -> Setting:
    """Return the chosen settings of a summary, without measured columns (those are fractions).

    >>> setting({"operator": "mask", "fractions": [0.1, 0.5], "null_sd": 0.2})
    (('fractions', '[0.1, 0.5]'), ('operator', 'mask'))
    """
    pairs = ((k, v) for k, v in sorted(where.items()) if k not in PARTS and isinstance(v, str | int | list))
    return tuple((k, str(v)) for k, v in pairs)


def of_a_part(where: Mapping[str, Json]) -> bool:
    """Return whether a summary is about one predicted class or one slice, not about all examples."""
    return any(name in where for name in PARTS)


def other_method(where: Mapping[str, Json]) -> str | None:
    """The method that a comparison is with."""
    return next((str(where[name]) for name in OTHER if name in where), None)
