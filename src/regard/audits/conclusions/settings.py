"""Settings that distinguish columns of numbers: the chosen setting, the other method, the part of the data."""

from __future__ import annotations

from collections.abc import Mapping

from regard.records import Json

Setting = tuple[tuple[str, str], ...]
OTHER = ("other", "with", "against", "reference")
"""Keys under which a metric stores the other method of a comparison."""
PARTS = ("class", "slice")
"""Keys that mark a summary of some of the examples."""


def setting(where: Mapping[str, Json]) -> Setting:
    """Return the chosen settings of a summary, without measured columns (fractions).

    >>> setting({"operator": "mask", "fractions": [0.1, 0.5], "null_sd": 0.2})
    (('fractions', '[0.1, 0.5]'), ('operator', 'mask'))
    """
    pairs = ((k, v) for k, v in sorted(where.items()) if k not in PARTS and isinstance(v, str | int | list))
    return tuple((k, str(v)) for k, v in pairs)


def of_a_part(where: Mapping[str, Json]) -> bool:
    """Return whether a summary covers one predicted class or one slice instead of all examples."""
    return any(name in where for name in PARTS)


def other_method(where: Mapping[str, Json]) -> str | None:
    """Name of the other method of a comparison."""
    return next((str(where[name]) for name in OTHER if name in where), None)
