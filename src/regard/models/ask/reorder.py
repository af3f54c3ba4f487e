"""Reordered units: a control that a map of positions alone cannot distinguish."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from regard.errors import Unsupported, phrase
from regard.models.adapter import TorchModel, own
from regard.models.ask.capability import capability
from regard.protocols import Encoded
from regard.records import Ints


@capability(needs="removal")
def reorder(model: TorchModel, encoded: Encoded, order: Ints) -> Encoded:
    """Put unit `order[j]` in the place of unit j. Inputs beside the units (positions, masks) stay."""
    item, main = own(encoded), model.reader.main
    before = item.arrays[main]
    after = before.copy()
    shift = None if item.shift is None else item.shift.copy()
    for place, unit in enumerate(order.tolist()):
        if place == unit:
            continue
        to, source = item.owner == place, item.owner == unit
        if to.sum() != source.sum():
            raise Unsupported(
                phrase("errors.models.units_in_another_order"),
                expected=phrase("errors.models.units_one_size"),
                got=phrase("errors.common.and_model", model=int(to.sum()), model_option=int(source.sum())),
            )
        after[to] = before[source]
        if shift is not None and item.shift is not None:
            shift[to] = item.shift[source]
    return replace(item, arrays={**item.arrays, main: np.ascontiguousarray(after)}, shift=shift)
