"""Labels as the numbers a network learns."""

from __future__ import annotations

import numpy as np

from regard.errors import InputError
from regard.protocols import Dataset
from regard.records import Ints


def label_names(data: Dataset) -> tuple[str, ...]:
    """The names of the classes: those the data declares, else every label that occurs, sorted."""
    return data.labels or tuple(sorted({str(e.label) for e in data if e.label is not None}))


def numbered(data: Dataset, names: tuple[str, ...]) -> Ints:
    """The class of every example as its place in `names`, (examples,). A label is a name, or already a place."""
    places = {name: i for i, name in enumerate(names)}
    numbers = np.zeros(len(data), np.int64)
    for i, example in enumerate(data):
        label = example.label
        if str(label) in places and label is not None:
            numbers[i] = places[str(label)]
        elif isinstance(label, int) and not isinstance(label, bool) and 0 <= label < len(names):
            numbers[i] = label
        else:
            raise InputError(
                f"label of example {example.id!r} in {data.name}",
                expected=f"one of {', '.join(names)}",
                got="none" if label is None else repr(label),
            )
    return numbers
