"""The same units in another order: what a map that depends on places alone cannot notice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from regard.errors import Unsupported
from regard.models.read.encoded import Item
from regard.records import Ints


def reordered(item: Item, order: Ints, *, main: str) -> Item:
    """The item with unit `order[j]` in the place of unit j. What is read beside the units (positions, masks) stays."""
    before = item.arrays[main]
    after = before.copy()
    shift = None if item.shift is None else item.shift.copy()
    for there, unit in enumerate(order.tolist()):
        if there == unit:
            continue
        to, source = item.owner == there, item.owner == unit
        if to.sum() != source.sum():
            raise Unsupported(
                "units in another order", expected="units of one size", got=f"{int(to.sum())} and {int(source.sum())}"
            )
        after[to] = before[source]
        if shift is not None and item.shift is not None:
            shift[to] = item.shift[source]
    return replace(item, arrays={**item.arrays, main: np.ascontiguousarray(after)}, shift=shift)
