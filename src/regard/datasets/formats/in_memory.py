"""In-memory data: DataFrames, `datasets.Dataset`, lists of texts, dicts or pairs, generators of these."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from itertools import islice
from typing import Any, Final

from regard.datasets.examples import IN_MEMORY
from regard.datasets.formats.json_lines import PEEKED
from regard.datasets.table import Row, Table, check_columns
from regard.errors import InputError, NoExamples, phrase

EXPECTED: Final = phrase("errors.datasets.file_or_built_in_name")
NAME: Final = IN_MEMORY
PAIR: Final = ("text", "label")


def memory_table(data: object, name: str = NAME) -> Table:
    """Return the rows of `data` as a table; a generator is walked once and stored.

    >>> table = memory_table([("a quiet film", 1), ("a loud one", 0)])
    >>> table.columns, [dict(row.values) for row in table.walk(None)][0]
    (('text', 'label'), {'text': 'a quiet film', 'label': 1})
    """
    labels: Mapping[str, tuple[str, ...]] = {}
    if _is_frame(data):
        rows = [dict(row) for row in _frame_rows(data)]
    elif hasattr(data, "column_names") and hasattr(data, "features"):
        rows, labels = _hugging_face(data)
    elif isinstance(data, Mapping):
        rows = _columns(data)
    elif isinstance(data, Iterable) and not isinstance(data, str | bytes):
        rows = [_cells(item, number) for number, item in enumerate(data, 1)]
    else:
        raise InputError("data", expected=EXPECTED, got=type(data).__name__)
    if not rows:
        raise NoExamples(
            "data", expected=phrase("errors.common.at_least_one_example"), got=phrase("errors.common.none")
        )
    columns = tuple(dict.fromkeys(str(key) for row in islice(rows, PEEKED) for key in row))
    check_columns(columns, name)

    def walk(wanted: Sequence[str] | None) -> Iterator[Row]:
        for number, row in enumerate(rows, 1):
            yield Row(number, {str(key): _plain(value) for key, value in row.items()})

    return Table(name, columns, walk, labels=labels)


def _is_frame(data: object) -> bool:
    """Return whether a value is a DataFrame, by its methods; imports neither library."""
    return hasattr(data, "columns") and (hasattr(data, "iter_rows") or hasattr(data, "to_dict"))


def _frame_rows(data: Any) -> Iterable[Mapping[Any, Any]]:
    if hasattr(data, "iter_rows"):
        return data.iter_rows(named=True)  # type: ignore[no-any-return]
    return data.to_dict("records")  # type: ignore[no-any-return]


def _hugging_face(data: Any) -> tuple[list[dict[Any, Any]], dict[str, tuple[str, ...]]]:
    """Rows of a `datasets.Dataset`, and the names of its coded labels by column."""
    names = {str(key): getattr(feature, "names", None) for key, feature in (data.features or {}).items()}
    return [dict(row) for row in data], {key: tuple(value) for key, value in names.items() if value}


def _columns(data: Mapping[Any, Any]) -> list[dict[Any, Any]]:
    """Rows of columns: {"text": [...], "label": [...]}."""
    lengths = {str(key): len(values) for key, values in data.items() if isinstance(values, Sized)}
    if len(lengths) < len(data) or len(set(lengths.values())) > 1 or any(isinstance(v, str) for v in data.values()):
        raise InputError(
            "data",
            expected=phrase("errors.datasets.columns_one_length"),
            got=str(lengths or dict(islice(data.items(), 3))),
        )
    return [dict(zip(data, cells, strict=True)) for cells in zip(*data.values(), strict=True)]


def _cells(item: object, number: int) -> dict[Any, Any]:
    if isinstance(item, str):
        return {"text": item}
    if isinstance(item, Mapping):
        return dict(item)
    if isinstance(item, tuple | list) and len(item) == len(PAIR):
        if isinstance(item[0], str):
            return dict(zip(PAIR, item, strict=True))
        if hasattr(item[0], "getexif"):  # a picture of Pillow, which need not be installed
            return {"image": item[0], "label": item[1]}
    raise InputError(
        phrase("errors.datasets.data_item", number=number), expected=EXPECTED, got=f"{type(item).__name__} {item!r:.60}"
    )


def _plain(value: Any) -> Any:
    """Convert a cell to JSON types: numpy scalars to numbers, a missing number to None."""
    if hasattr(value, "item") and not getattr(value, "shape", ()):
        value = value.item()
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    return None if isinstance(value, float) and math.isnan(value) else value
