"""Class labels as numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from regard.datasets.examples import Examples
from regard.errors import InputError, phrase
from regard.models.open.labels import named, parse_labels
from regard.protocols import Dataset
from regard.records import Ints


def label_names(data: Dataset) -> tuple[str, ...]:
    """List the class names: declared by the data, else every label that occurs, sorted."""
    return data.labels or tuple(sorted({str(e.label) for e in data if e.label is not None}))


def relabelled(data: Examples, classes: str) -> Examples:
    """The data with their labels as classes, by number: `bad=0,poor=0,good=1` has the classes "bad/poor" and "good".

    >>> from regard.records import Example
    >>> stars = Examples("stars", (Example("a", {"text": "good"}, 5), Example("b", {"text": "bad"}, 1)))
    >>> merged = relabelled(stars, "1=0,5=1")
    >>> merged.labels, [e.label for e in merged]
    (('1', '5'), [1, 0])
    """
    numbers = parse_labels(classes)
    count = len(set(numbers.values()))
    if set(numbers.values()) != set(range(count)):
        raise InputError(
            "--labels", expected=phrase("errors.training.classes_from_zero", n=count - 1), got=repr(classes)
        )
    names = tuple("/".join(name for name, number in numbers.items() if number == k) for k in range(count))
    items = []
    for example in data:
        label = named(example.label, data.labels)
        if str(label) not in numbers:
            raise InputError(
                phrase("errors.training.label_example_in_data", example=repr(example.id), data=data.name),
                expected=phrase("errors.common.one_allowed", allowed=", ".join(numbers)),
                got=phrase("errors.common.none") if label is None else repr(label),
                remedy=phrase("errors.training.labels_for_every_label"),
            )
        items.append(replace(example, label=numbers[str(label)]))
    return replace(data, items=tuple(items), labels=names)


def check_classes(data: Dataset, numbers: Ints, names: tuple[str, ...]) -> None:
    """Raise an error if all training examples have one class."""
    classes = {names[i] for i in numbers}
    if len(classes) == 1:
        remedy = phrase("errors.training.data_with_examples_every_class")
        subject = phrase("errors.training.train_split", data=data.name)
        raise InputError(
            subject,
            expected=phrase("errors.training.at_least_two_classes"),
            got=phrase("errors.training.only_classes", classes=repr(classes.pop())),
            remedy=remedy,
        )


def balanced(labels: Ints, classes: int) -> list[float]:
    """Class weights inverse to frequency, with mean 1.

    >>> balanced(np.array([0, 0, 0, 1]), 2)
    [0.5, 1.5]
    """
    counts = np.maximum(np.bincount(labels, minlength=classes), 1)
    inverse = 1.0 / counts
    return [float(w) for w in inverse * classes / inverse.sum()]


def numbered(data: Dataset, names: tuple[str, ...]) -> Ints:
    """Map labels to positions in `names`, (examples,). A label is a name or already a position."""
    places = {name: i for i, name in enumerate(names)}
    numbers = np.zeros(len(data), np.int64)
    for i, example in enumerate(data):
        label = example.label
        if str(label) in places and label is not None:
            numbers[i] = places[str(label)]
        elif isinstance(label, int) and not isinstance(label, bool) and 0 <= label < len(names):
            numbers[i] = label
        else:
            subject = phrase("errors.training.label_example_in_data", example=repr(example.id), data=data.name)
            problem = phrase("errors.common.none") if label is None else repr(label)
            raise InputError(
                subject, expected=phrase("errors.common.one_allowed", allowed=", ".join(names)), got=problem
            )
    return numbers
