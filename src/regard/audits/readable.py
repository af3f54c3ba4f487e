"""Check that a model can read a data set at all, before an audit starts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Final

from regard.desk.encoding import encoded_once
from regard.errors import InputError, Text, phrase
from regard.protocols import Dataset, Model
from regard.records import Example

_KINDS: Final = {
    "text": ("text", "texts"),
    "image": ("image", "images"),
    "audio": ("audio", "sounds"),
    "series": ("series", "number_series"),
    "tabular": ("row", "number_rows"),
}
"""Modality -> the key of an example's inputs, and its noun in errors (`errors.noun`)."""
TRIED: Final = 20
"""Examples to encode when testing whether any fits."""


def check_modality(model: Model, data: Dataset, examples: Sequence[Example] | None = None) -> None:
    """Refuse data of another modality than the model reads, since no example could be judged."""
    kind = _KINDS.get(model.modality)
    if kind is None:
        return  # a model of the user's own, which reads whatever it reads
    entry, noun = kind
    first = list(islice(data if examples is None else examples, TRIED))
    if first and not any(entry in example.inputs for example in first):
        remedy = (
            phrase("errors.audits.text_column_name_if_column")
            if entry == "text"
            else phrase("errors.audits.data_with_noun", noun=noun)
        )
        expected = phrase("errors.audits.which_model_reads", noun=noun, model=model.name)
        raise InputError(
            phrase("errors.common.data_path", path=data.name),
            expected=expected,
            got=_what(data, first[0]),
            remedy=remedy,
        )
    if entry != "text":
        _check_shapes(model, data, first)


def _check_shapes(model: Model, data: Dataset, examples: Sequence[Example]) -> None:
    """Refuse arrays if none has the shape that the model expects; the error names the fault of the first."""
    problems: list[InputError] = []
    for example in examples:
        try:
            for window in model.windows(example)[:1]:
                encoded_once(model, window)
        except InputError as error:
            problems.append(error)
            continue
        return
    if problems:
        one = problems[0]
        raise InputError(
            phrase("errors.audits.data_data", data=data.name, subject=one.subject),
            expected=one.expected,
            got=one.got,
            remedy=one.remedy,
        )


def _what(data: Dataset, example: Example) -> Text:
    for entry, noun in _KINDS.values():
        if entry in example.inputs:
            columns = [str(column) for column in getattr(data, "columns", ())]
            if not columns:
                return phrase("errors.audits.noun_noun", noun=noun)
            names = ", ".join([*columns[:5], *(["..."] if len(columns) > 5 else [])])
            return phrase("errors.audits.noun_columns", noun=noun, columns=names)
    return ", ".join(sorted(example.inputs)) or phrase("errors.audits.empty_examples")
