"""Records as a pandas or Polars DataFrame; imports either library only on request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from regard.errors import EnvironmentProblem, phrase
from regard.records import Json

if TYPE_CHECKING:
    import pandas
    import polars


def to_pandas(records: Sequence[Mapping[str, Json]]) -> pandas.DataFrame:
    """Return one row per record."""
    frame: pandas.DataFrame = _library("pandas").DataFrame([dict(record) for record in records])
    return frame


def to_polars(records: Sequence[Mapping[str, Json]]) -> polars.DataFrame:
    """Return one row per record; the types are those of all rows, not of the first ones."""
    frame: polars.DataFrame = _library("polars").DataFrame([dict(row) for row in records], infer_schema_length=None)
    return frame


class HasFrames:
    """`to_pandas` and `to_polars` for classes with `records`."""

    __slots__ = ()

    def records(self) -> list[dict[str, Json]]:
        """The rows of the table as dicts."""
        raise NotImplementedError

    def to_pandas(self) -> pandas.DataFrame:
        """Return the records as a pandas DataFrame."""
        return to_pandas(self.records())

    def to_polars(self) -> polars.DataFrame:
        """Return the records as a Polars DataFrame."""
        return to_polars(self.records())


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise EnvironmentProblem(
            phrase("errors.common.package_needs", needs=name),
            expected=phrase("errors.store.installed_package"),
            got=str(error),
            remedy=f"pip install {name}",
        ) from error
