"""Array inputs (images, series, tables) cut into regions, one per unit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from regard.errors import InputError, UnknownName, phrase
from regard.models.read.encoded import Item
from regard.models.read.picture_geometry import PictureGeometry
from regard.records import Bools, Example, Ints, Text, Units

Array = NDArray[Any]
"""Numbers that a module reads; usually float32."""
Prepare = Callable[[Any, Text], Array]
"""(user's input, subject for errors) -> the array that the module reads, without the batch axis."""
LayOut = Callable[[Array, Any], tuple[Units, Ints]]
"""(array, user's input) -> its units, and the unit that owns each entry of the array (-1: none)."""
Fill = Callable[[Array, Bools, np.random.Generator], Array]
"""(array, removed entries, random generator) -> an array whose values replace those entries."""


@dataclass(slots=True)
class ArrayReader:
    """Image, series or row -> Item. `middle` is the baseline called "mean"; default: the fill of that name.

    geometry: (height, width) -> resizing of a picture before the module reads it. extras: user's input -> further
    inputs of the module by name, which belong to no unit. start: the preferred baseline. trial: shape of an input to
    try methods on; () if unknown.
    """

    modality: str
    main: str
    entry: str
    prepare: Prepare
    lay_out: LayOut
    fills: Mapping[str, Fill]
    middle: Fill | None = None
    geometry: Callable[[int, int], PictureGeometry] | None = None
    extras: Callable[[Any], Mapping[str, Array]] | None = None
    start: str = "mean"
    trial: tuple[int, ...] = ()
    observations: list[Text] = field(default_factory=list)

    @property
    def operators(self) -> tuple[str, ...]:
        return tuple(self.fills)

    @property
    def baselines(self) -> tuple[str, ...]:
        usual = ("mean", "zero", "resample") if "resample" in self.fills else ("mean", "zero")
        return tuple(dict.fromkeys((self.start, *usual)))

    def notes(self) -> list[Text]:
        return list(self.observations)

    def unknown(self, item: Item) -> int:
        return 0  # numbers have no vocabulary

    def encode(self, example: Example) -> Item:
        if self.entry not in example.inputs:
            raise InputError(
                phrase("errors.common.example_example", example=repr(example.id)),
                expected=phrase("errors.models.inputs_with_entry", entry=repr(self.entry)),
                got=", ".join(sorted(example.inputs)) or phrase("errors.models.no_entry"),
                remedy=f"--{self.entry} FILE" if self.entry in ("image", "audio") else "--data FILE",
            )
        value = example.inputs[self.entry]
        array = self.prepare(value, phrase("errors.common.example_example", example=repr(example.id)))
        if array.size == 0:
            raise InputError(
                phrase("errors.common.example_example", example=repr(example.id)),
                expected=phrase("errors.models.array_with_values"),
                got=phrase("errors.common.empty_one"),
            )
        if not np.isfinite(array).all():
            raise InputError(
                phrase("errors.common.example_example", example=repr(example.id)),
                expected=phrase("errors.common.finite_numbers"),
                got=phrase("errors.common.nan_or_infinity"),
                remedy=phrase("errors.models.fill_in_or_drop_missing"),
            )
        units, owner = self.lay_out(array, value)
        extras = {} if self.extras is None else self.extras(value)
        return Item(units, {self.main: array, **extras}, owner, len(units))

    def windows(self, example: Example) -> list[Example]:
        return [example]

    def remove(self, item: Item, drop: Bools, operator: str, rng: np.random.Generator) -> Item:
        if operator not in self.fills:
            raise UnknownName("operator", operator, self.fills)
        removed = np.asarray(drop, bool) & item.units.free
        if not removed.any():
            return item
        array = item.arrays[self.main]
        entries = np.append(removed, False)[item.owner]  # owner -1 reads the appended False
        filled = np.where(entries, self.fills[operator](array, entries, rng), array)
        return replace(item, arrays={**item.arrays, self.main: filled.astype(array.dtype)})

    def baseline(self, item: Item, name: str) -> Array:
        """Array with every unit removed: zeros, the mean, or the named fill."""
        array = item.arrays[self.main]
        if name == "zero":
            return np.zeros_like(array)
        every = item.owner >= 0
        fill = (self.middle or self.fills["mean"]) if name == "mean" else self.fills[name]
        return np.where(every, fill(array, every, np.random.default_rng(0)), array).astype(array.dtype)

    def collate(self, batch: Sequence[Item], device: torch.device, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        return {
            name: stacked([item.arrays[name] for item in batch], device, dtype)
            for name in (self.main, *(n for n in batch[0].arrays if n != self.main))
        }


def stacked(arrays: Sequence[Array], device: torch.device, dtype: torch.dtype) -> torch.Tensor:
    """Stack arrays into one tensor, padded with zeros to a common shape; numbers in `dtype`, counts as int64."""
    shape = tuple(max(sizes) for sizes in zip(*(a.shape for a in arrays), strict=True))
    table = np.zeros((len(arrays), *shape), arrays[0].dtype)
    for number, array in enumerate(arrays):
        places: tuple[Any, ...] = (number, *(slice(n) for n in array.shape))
        table[places] = array
    tensor = torch.from_numpy(table)
    if tensor.dtype == torch.bool:
        return tensor.to(device)
    return tensor.to(device, dtype if tensor.is_floating_point() else torch.int64)


def with_class_tokens(
    units: Sequence[str], places: Array, kind: str, place_kind: Any, shape: tuple[int, ...], lead: int
) -> Units:
    """Shift the units behind `lead` class tokens; lead -1: the units have no place on the key axis of the attention."""
    n, first = len(units), max(lead, 0)
    names = (*("[CLS]" if i == 0 else f"[CLS{i}]" for i in range(first)), *units)
    special = np.arange(first + n) < first
    groups = np.where(special, -1, np.arange(first + n) - first)
    keys = np.arange(first + n) if lead >= 0 else np.full(n, -1)
    everywhere = np.concatenate([np.zeros((first, places.shape[1])), places])
    return Units(
        names=names,
        kind=kind,
        place_kind=place_kind,
        places=everywhere,
        special=special,
        groups=groups,
        part=np.zeros(first + n, int),
        keys=keys,
        shape=shape,
    )
