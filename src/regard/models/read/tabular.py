"""Tables: units are columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.errors import InputError, Text, phrase
from regard.message import Message
from regard.models.read.encoded import Item
from regard.models.read.regions import Array, ArrayReader, Fill, with_class_tokens
from regard.networks.categories import Categories
from regard.records import Bools, Example, Floats, Ints, Units

CATEGORIES = "categories"
"""Entry of the inputs beside the row of numbers: one category, as text, for each category column."""
NO_CATEGORIES = Categories(())


@dataclass(slots=True)
class TableReader(ArrayReader):
    """Row and categories -> Item: the numbers, then one group of zeros and ones per category column."""

    known: Categories = NO_CATEGORIES
    titles: tuple[str, ...] = ()
    """Names of the category columns."""

    def encode(self, example: Example) -> Item:
        values = example.inputs.get(CATEGORIES, ())
        if not self.known.names:
            if len(values):
                note = Message.of("data.categories_not_read", n=len(values))
                self.observations += [] if note in self.observations else [note]
            return ArrayReader.encode(self, example)
        if len(values) != len(self.known.names):
            raise InputError(
                phrase("errors.common.example_example", example=repr(example.id)),
                expected=phrase(
                    "errors.models.category_columns", n=len(self.known.names), names=", ".join(self.titles)
                ),
                got=str(len(values)),
                remedy=phrase("errors.models.label_column_and_same_columns"),
            )
        numbers = np.asarray(example.inputs.get(self.entry, ()), np.float64).reshape(-1)
        row = np.concatenate([numbers, self.known.encode([str(value) for value in values])])
        return ArrayReader.encode(self, Example(example.id, {self.entry: row}))

    def unknown(self, item: Item) -> int:
        """Count the category columns whose category did not occur in training."""
        entries = item.arrays[self.main][-sum(self.known.sizes) :] if self.known.names else np.zeros(0)
        ends = np.cumsum(self.known.sizes)[:-1]
        return sum(not group.any() for group in np.split(entries, ends)) if self.known.names else 0


def tabular_reader(
    main: str,
    columns: Sequence[str],
    *,
    centre: Array | None = None,
    spread: Array | None = None,
    background: Array | None = None,
    lead: int = 1,
    categories: Categories = NO_CATEGORIES,
) -> ArrayReader:
    """A reader of rows. A column is removed by its mean (a category: the most frequent), or by another row's value.

    background: (rows, entries) that `resample` draws whole values from, each column by itself. Without it values are
    drawn from a normal distribution with the given centre and spread (default 0 and 1: standardised columns). Category
    columns come last and need a background; each is one unit with an entry for each of its categories.
    """
    n = len(columns)
    numbers = n - len(categories.names)
    entries = numbers + sum(categories.sizes)
    owner = np.repeat(np.arange(n), [*[1] * numbers, *categories.sizes])
    observed_centre = centre is not None or background is not None
    middle, width = _middle(entries, numbers, categories, centre=centre, spread=spread, background=background)

    def mean(row: Array, gone: Bools, rng: np.random.Generator) -> Array:
        return middle

    def resample(row: Array, gone: Bools, rng: np.random.Generator) -> Array:
        if background is not None:
            return np.asarray(background[rng.integers(len(background), size=n)[owner], np.arange(entries)], np.float64)
        return middle + width * rng.standard_normal(entries)

    def prepare(given: Any, subject: Text) -> Array:
        row = np.asarray(given, dtype=np.float32)
        if row.shape != (entries,):
            expected = phrase("errors.models.row_columns", n=numbers)
            got = str(np.shape(given)) if not categories.names else str(len(row) - (entries - numbers))
            raise InputError(subject, expected=expected, got=got)
        return row

    def lay_out(array: Array, given: Any) -> tuple[Units, Ints]:
        places = np.arange(n, dtype=np.float64)[:, None]
        units = with_class_tokens(columns, places, "column", place_kind="column", shape=(n,), lead=lead)
        return units, owner + max(lead, 0)

    fills: dict[str, Fill] = {"mean": mean, "resample": resample}
    reader = TableReader(
        modality="tabular",
        main=main,
        entry="row",
        prepare=prepare,
        lay_out=lay_out,
        fills=fills,
        trial=() if categories.names else (n,),
        known=categories,
        titles=tuple(columns[numbers:]),
    )
    if not observed_centre:
        reader.observations.append(Message("data.no_column_statistics"))
    return reader


def _middle(
    entries: int,
    numbers: int,
    categories: Categories,
    *,
    centre: Array | None,
    spread: Array | None,
    background: Array | None,
) -> tuple[Floats, Floats]:
    """Return mean and spread of every entry; a category column has its most frequent category as mean."""
    if background is not None:
        centre, spread = background.mean(axis=0), background.std(axis=0)
    middle = np.zeros(entries) if centre is None else np.array(centre, np.float64).reshape(entries)
    start = numbers
    for size in categories.sizes:
        most_frequent = int(np.argmax(middle[start : start + size]))
        middle[start : start + size] = np.arange(size) == most_frequent
        start += size
    width = np.ones(entries) if spread is None else np.asarray(spread, np.float64).reshape(entries)
    return middle, width
