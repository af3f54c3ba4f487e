"""Tables: units are columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from regard.errors import InputError, Text, phrase
from regard.message import Message
from regard.models.read.regions import Array, ArrayReader, Fill, with_class_tokens
from regard.records import Bools, Ints, Units


def tabular_reader(
    main: str,
    columns: Sequence[str],
    *,
    centre: Array | None = None,
    spread: Array | None = None,
    background: Array | None = None,
    lead: int = 1,
) -> ArrayReader:
    """A reader of rows. A column is removed by its mean, or by a value drawn from elsewhere.

    background: (rows, columns) that `resample` draws whole values from, each column by itself. Without it values are
    drawn from a normal distribution with the given centre and spread (default 0 and 1: standardised columns).
    """
    n = len(columns)
    if background is not None:
        centre, spread = background.mean(axis=0), background.std(axis=0)
    middle = np.zeros(n) if centre is None else np.asarray(centre, np.float64).reshape(n)
    width = np.ones(n) if spread is None else np.asarray(spread, np.float64).reshape(n)

    def mean(row: Array, gone: Bools, rng: np.random.Generator) -> Array:
        return middle

    def resample(row: Array, gone: Bools, rng: np.random.Generator) -> Array:
        if background is not None:
            return np.asarray(background[rng.integers(len(background), size=n), np.arange(n)], np.float64)
        return middle + width * rng.standard_normal(n)

    def prepare(given: Any, subject: Text) -> Array:
        row = np.asarray(given, dtype=np.float32)
        if row.shape != (n,):
            raise InputError(subject, expected=phrase("errors.models.row_columns", n=n), got=str(np.shape(given)))
        return row

    def lay_out(array: Array, given: Any) -> tuple[Units, Ints]:
        places = np.arange(n, dtype=np.float64)[:, None]
        return with_class_tokens(columns, places, "column", place_kind="column", shape=(n,), lead=lead), np.arange(
            n
        ) + max(lead, 0)

    fills: dict[str, Fill] = {"mean": mean, "resample": resample}
    reader = ArrayReader(
        modality="tabular", main=main, entry="row", prepare=prepare, lay_out=lay_out, fills=fills, trial=(n,)
    )
    if centre is None:
        reader.observations.append(Message("data.no_column_statistics"))
    return reader
