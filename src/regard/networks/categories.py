"""Category columns of a table as groups of zeros and ones, one group per column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.records import Floats


@dataclass(frozen=True, slots=True)
class Categories:
    """Known categories of every category column; stored with the network, so that a code means the same anywhere.

    >>> known = Categories((("own", "rent"), ("a", "b", "c")))
    >>> known.encode(["rent", "a"]).tolist(), known.encode(["castle", "c"]).tolist()
    ([0.0, 1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 1.0])
    """

    names: tuple[tuple[str, ...], ...]

    @staticmethod
    def of(table: Sequence[Sequence[str]]) -> Categories:
        """Collect the categories of training rows, each column sorted."""
        columns = zip(*table, strict=True)
        return Categories(tuple(tuple(sorted(set(column))) for column in columns))

    @staticmethod
    def from_json(value: Any) -> Categories:
        return Categories(tuple(tuple(str(name) for name in column) for column in value or ()))

    @property
    def sizes(self) -> list[int]:
        return [len(column) for column in self.names]

    def encode(self, values: Sequence[str]) -> Floats:
        """Return (categories of all columns,): a one in each column's group; only zeros for an unknown category."""
        groups = [[float(name == value) for name in column] for column, value in zip(self.names, values, strict=True)]
        return np.array([entry for group in groups for entry in group], np.float64)
