"""Cells of a row -> the inputs, the label and the slices of an example."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from regard.datasets.alignments import Alignment, word_links
from regard.datasets.columns import Columns, category_word
from regard.datasets.formats.sounds import sound_of
from regard.datasets.picture_decoder import PictureDecoder, is_encoded, picture_bytes, picture_name, pil_pixels
from regard.datasets.rationales import Places, places_elsewhere, places_in_text
from regard.datasets.table import Row, RowError
from regard.errors import InputError, Text, phrase, words_of
from regard.files import parse_json
from regard.measures.pixel_range import full_brightness
from regard.records import Json, frozen

DEEPEST_LABEL = 8
LONGEST_NUMBER = 400
"""Maximum characters of a number; the longest plain float has 327."""
AXES = {"image": ((2, 3), "(height, width) or (height, width, channels)"), "series": ((2,), "(steps, channels)")}


def inputs_of(row: Row, columns: Columns, decoder: PictureDecoder | None = None) -> dict[str, Any]:
    """Return {"text": ...}, with "text_pair"; or {"image" | "series" | "row": read-only array}.

    A picture that is a file stays its path or bytes without a decoder.
    """
    if columns.modality == "text":
        inputs: dict[str, Any] = {"text": _text(row, columns.main[0])}
        if columns.pair:
            inputs["text_pair"] = _text(row, columns.pair)
        return inputs
    if columns.modality == "audio":
        rate = None if columns.rate is None else _number(row, columns.rate)
        return sound_of(row.values.get(columns.main[0]), columns.folder, rate)
    if columns.modality == "tabular":
        row_inputs: dict[str, Any] = {"row": frozen([_number(row, column) for column in columns.main])}
        if columns.categories:
            row_inputs["categories"] = tuple(_category(row, column) for column in columns.categories)
        return row_inputs
    if columns.modality == "image":
        return {"image": _picture(row, columns, decoder)}
    return {columns.modality: _array(row, columns)}


def content_of(inputs: dict[str, Any]) -> str:
    """Key of an input: equal for equal inputs."""
    return "\x1f".join(map(_key, inputs.values()))


def _key(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.hex()
    return f"{value.shape}{value.tobytes().hex()}" if hasattr(value, "tobytes") else str(value)


def file_name(row: Row, columns: Columns) -> str:
    """Name of the picture file of a row; "" if there is none."""
    cell = row.values.get(columns.main[0]) if columns.modality == "image" else None
    return picture_name(cell) if is_encoded(cell) else ""


def label_of(value: Any, *, typed: bool) -> Json:
    """Parse a label; None if empty or NaN. A list of labels in a csv cell is JSON."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, str) and not typed:
        value = value.strip()
        if value.startswith("[") and value.endswith("]"):
            try:
                several: Json = parse_json(value)
            except ValueError:
                return str(value)
            _check_depth(several)
            return several
        return value or None
    _check_depth(value)
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        raise RowError(phrase("errors.datasets.label_that_text_number"), shown(value)) from None
    label: Json = value
    return label


def _check_depth(label: Any) -> None:
    """Reject a deeply nested label."""
    inside = [label]
    for _ in range(DEEPEST_LABEL):
        inside = [
            part
            for value in inside
            if isinstance(value, list | tuple | dict)
            for part in (value.values() if isinstance(value, dict) else value)
        ]
    if inside:
        raise RowError(
            phrase("errors.datasets.label_that_text_number"),
            phrase("errors.datasets.lists_nested_deep", deepest_label=DEEPEST_LABEL),
        )


def shown(value: Any) -> Text:
    """Shorten the content of a cell for a message.

    >>> shown("a" * 50), str(shown(10**5000))
    ("'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 'a whole number of more than 4,300 digits')
    """
    try:
        return repr(value)[:40]
    except ValueError:
        return phrase("errors.common.whole_number_more_than_digits")
    except RecursionError:
        return phrase("errors.datasets.nested_too_deeply", type=type(value).__name__)


def number_kind(label: Json) -> int:
    """Numeric type of a csv label: 2 for an integer, 1 for a number, 0 for neither."""
    if not isinstance(label, str):
        return 2 if label is None else 0
    if len(label) > LONGEST_NUMBER:
        return 0
    if re.fullmatch(r"[+-]?\d{1,18}", label):
        return 2
    number = re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", label)
    return 1 if number and math.isfinite(float(label)) else 0


def rationale_of(row: Row, columns: Columns, inputs: dict[str, Any]) -> Places | None:
    if columns.rationale is None:
        return None
    value = row.values.get(columns.rationale)
    try:
        if columns.modality == "text":
            by_word = any(part in columns.rationale.casefold() for part in ("token", "word"))
            return places_in_text(value, inputs["text"], words=by_word)
        return places_elsewhere(value, columns.modality, columns.main)
    except ValueError as error:
        raise RowError(
            phrase("errors.datasets.rationale_that_fits_input"),
            phrase("errors.datasets.column_error", error=error, rationale=repr(columns.rationale)),
        ) from None


def word(value: Any) -> str:
    """Convert a cell to the name of a group or a slice; "" if it is empty."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()


def _text(row: Row, column: str) -> str:
    value = row.values.get(column)
    if isinstance(value, list) and value and all(isinstance(v, str) for v in value):
        value = " ".join(value)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        raise RowError(
            phrase("errors.common.text"), phrase("errors.datasets.nothing_nan_in_column", column=repr(column))
        )
    if not isinstance(value, str):
        raise RowError(
            phrase("errors.common.text"),
            phrase("errors.datasets.in_column", type=type(value).__name__, column=repr(column)),
        )
    if not value.strip():
        raise RowError(
            phrase("errors.common.text"), phrase("errors.datasets.empty_cell_in_column", column=repr(column))
        )
    try:
        value.encode()
    except UnicodeEncodeError:
        raise RowError(
            phrase("errors.common.text"), phrase("errors.datasets.half_surrogate_pair_in_column", column=repr(column))
        ) from None
    return value


def _category(row: Row, column: str) -> str:
    word = category_word(row.values.get(column))
    if word is None:
        raise RowError(
            phrase("errors.datasets.category"),
            phrase("errors.datasets.value_in_column", column=shown(row.values.get(column)), column_2=repr(column)),
        )
    return word


def _number(row: Row, column: str) -> float:
    try:
        number = float(row.values.get(column))  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise RowError(
            phrase("errors.common.number"),
            phrase("errors.datasets.value_in_column", column=shown(row.values.get(column)), column_2=repr(column)),
        )
    return number


def _picture(row: Row, columns: Columns, decoder: PictureDecoder | None) -> Any:
    """Pixels; without a decoder the path or the bytes of a picture file."""
    column = columns.main[0]
    cell = row.values.get(column)
    if hasattr(cell, "convert") and hasattr(cell, "mode"):
        return _checked_pixels(lambda: pil_pixels(cell, phrase("errors.datasets.column_column", column=repr(column))))
    if isinstance(cell, str) and not cell.strip().startswith("[") and not is_encoded(cell):
        remote = "://" in cell
        expected = (
            phrase("errors.datasets.file_on_this_machine")
            if remote
            else phrase("errors.datasets.picture_file_or_numbers_picture")
        )
        raise RowError(expected, phrase("errors.datasets.value_in_column", column=shown(cell), column_2=repr(column)))
    if not is_encoded(cell):
        return _array(row, columns)
    if decoder is None:
        content = picture_bytes(cell)
        return picture_name(cell) if content is None else content
    subject = picture_name(cell) or phrase("errors.datasets.bytes_in_column", column=repr(column))
    return _checked_pixels(lambda: decoder.decode(cell, subject))


def _checked_pixels(decode: Callable[[], Any]) -> Any:
    """Return the pixels; raise a row error for an unreadable picture."""
    try:
        return decode()
    except InputError as error:
        problem = phrase("errors.common.with_place", problem=error.got, place=error.subject)
        raise RowError(error.expected, problem) from None


def _array(row: Row, columns: Columns) -> Any:
    column = columns.main[0]
    axes, shape = AXES[columns.modality]
    value = row.values.get(column)
    try:
        array = np.array(parse_json(value) if isinstance(value, str) else value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError, RecursionError):
        raise RowError(
            phrase("errors.datasets.numbers_shape", shape=shape),
            phrase("errors.datasets.value_in_column", column=shown(value), column_2=repr(column)),
        ) from None
    if columns.modality == "series" and array.ndim == 1:
        array = array[:, None]
    if array.ndim not in axes or array.size == 0:
        raise RowError(
            phrase("errors.datasets.numbers_shape", shape=shape),
            phrase("errors.datasets.shape_in_column", shape=array.shape, column=repr(column)),
        )
    if not np.isfinite(array).all():
        raise RowError(
            phrase("errors.common.finite_numbers"),
            phrase("errors.datasets.nan_or_infinity_in_column", column=repr(column)),
        )
    if columns.modality == "image":
        top = full_brightness(array)
        if top is None:
            raise RowError(
                phrase("errors.datasets.pixel_range"),
                phrase("errors.datasets.range_in_column", array=array.min(), array_2=array.max(), column=repr(column)),
            )
        array = array / top
    return frozen(array)


def alignment_of(row: Row, columns: Columns, inputs: dict[str, Any], label: Json) -> Alignment | None:
    """Links between the words of the text and of the label; None without the column, or if the cell is empty."""
    value = row.values.get(columns.alignment) if columns.alignment else None
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        return None
    if not isinstance(value, str) or not isinstance(label, str):
        raise RowError(phrase("errors.datasets.links_words_such_and_label"), shown(value))
    try:
        return word_links(value, str(inputs["text"]), label)
    except ValueError as error:
        raise RowError(phrase("errors.datasets.links_words_such_counted"), words_of(error)) from None


def named_labels(labels: Any) -> tuple[str, ...]:
    """Normalize the user's label names: in code order, or name -> code.

    >>> named_labels({"pos": 1, "neg": 0}), named_labels(["neg", "pos"])
    (('neg', 'pos'), ('neg', 'pos'))
    """
    if isinstance(labels, dict):
        if sorted(labels.values()) != list(range(len(labels))):
            raise InputError(
                "labels", expected=phrase("errors.datasets.codes"), got=str(labels), remedy="--labels neg=0,pos=1"
            )
        return tuple(str(name) for name in sorted(labels, key=labels.__getitem__))
    return tuple(str(name) for name in labels)
