"""Labels as the numbers a network learns."""

from __future__ import annotations

import numpy as np

from regard.errors import InputError
from regard.protocols import Dataset
from regard.records import Ints


def label_names(data: Dataset) -> tuple[str, ...]:
    """The names of the classes: those the data declares, else every label that occurs, sorted."""
    return data.labels or tuple(sorted({str(e.label) for e in data if e.label is not None}))


def check_classes(data: Dataset, numbers: Ints, names: tuple[str, ...]) -> None:
    """Refuse to learn from examples of one class only."""
    classes = {names[i] for i in numbers}
    if len(classes) == 1:
        raise InputError(
            f"train split of {data.name}",
            expected="at least two classes",
            got=f"only {classes.pop()!r}",
            remedy="data with examples of every class, or another --label-column",
        )


def balanced(labels: Ints, classes: int) -> list[float]:
    """One weight per class: rare classes count more, so that every class counts the same in sum; the mean is 1.

    >>> balanced(np.array([0, 0, 0, 1]), 2)
    [0.5, 1.5]
    """
    counts = np.maximum(np.bincount(labels, minlength=classes), 1)
    inverse = 1.0 / counts
    return [float(w) for w in inverse * classes / inverse.sum()]


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
