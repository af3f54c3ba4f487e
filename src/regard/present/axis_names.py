"""Names along an axis of attention."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def axis_names(size: int, units: Mapping[str, Any]) -> tuple[str, ...]:
    """Names along a key axis: the unit that stands there, or the position where none does."""
    names = [str(i) for i in range(size)]
    places = units.get("keys") or range(len(units["names"]))
    if size == 1 < len(units["names"]):
        return tuple(names)  # one key for all units is none of them
    for name, place in zip(units["names"], places, strict=True):
        if 0 <= place < size:
            names[int(place)] = str(name).strip() or "␣"
    return tuple(n if len(n) <= 14 else n[:13] + "…" for n in names)
