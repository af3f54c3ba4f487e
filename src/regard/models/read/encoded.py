"""An example in the form its model reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from regard.records import Bools, Example, Ints, Text, Units


@dataclass(frozen=True, slots=True)
class Item:
    """Encoded example.

    arrays: arguments of the module, without the batch axis (`input_ids` (n,), `pixel_values` (c, h, w) ...). owner: the
    unit that each entry of the main array belongs to, -1 for none; for text one entry per position. aside: arrays that
    the task needs but the main call does not (the second text of a similarity). shift: (n, features) noise added to the
    embeddings of a text's positions, if any.
    """

    units: Units
    arrays: Mapping[str, NDArray[Any]]
    owner: Ints
    length: int
    aside: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    shift: NDArray[np.float32] | None = None


class Reader(Protocol):
    """The interface between an adapter and one modality."""

    @property
    def modality(self) -> str: ...
    @property
    def main(self) -> str:
        """Name of the array whose entries the units own."""
        ...

    @property
    def operators(self) -> tuple[str, ...]: ...
    @property
    def baselines(self) -> tuple[str, ...]: ...
    def encode(self, example: Example) -> Item: ...
    def windows(self, example: Example) -> list[Example]: ...
    def remove(self, item: Item, drop: Bools, operator: str, rng: np.random.Generator) -> Item: ...
    def collate(self, batch: list[Item], device: torch.device, dtype: torch.dtype) -> dict[str, torch.Tensor]: ...
    def notes(self) -> list[Text]: ...
    def unknown(self, item: Item) -> int:
        """Count the units outside the vocabulary."""
        ...
