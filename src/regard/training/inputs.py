"""Inputs of an example as networks take them."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from regard.datasets.examples import Examples
from regard.errors import InputError, phrase
from regard.protocols import Dataset
from regard.records import Example, Json

MOST_ASPECTS = 64


def text_of(example: Example) -> str:
    """Return the text, followed by the second text if any, like the adapter of these networks."""
    text = _given(example, "text")
    pair = example.inputs.get("text_pair")
    return str(text) if pair is None else f"{text} {pair}"


def first_text(example: Example) -> str:
    """Return the first text alone; the second is a question about it."""
    return str(_given(example, "text"))


def aspect_names(data: Dataset) -> tuple[str, ...]:
    """List the different second texts (questions), sorted."""
    names = tuple(sorted({str(_given(example, "text_pair")) for example in data}))
    if len(names) > MOST_ASPECTS:
        remedy = phrase("errors.training.aspects_false_reads_both_texts")
        expected = phrase("errors.training.at_most_different_second_texts", most_aspects=MOST_ASPECTS)
        raise InputError(
            phrase("errors.training.aspects_data", data=data.name),
            expected=expected,
            got=str(len(names)),
            remedy=remedy,
        )
    return names


def aspect_numbers(data: Dataset, names: tuple[str, ...]) -> list[Tensor]:
    """Return the position in `names` of each example's question."""
    for example in data:
        if example.inputs.get("text_pair") not in names:
            subject = phrase("errors.training.second_text_example", example=repr(example.id))
            raise InputError(
                subject,
                expected=phrase("errors.common.one_allowed", allowed=", ".join(names)),
                got=repr(example.inputs.get("text_pair")),
            )
    return [torch.tensor(names.index(str(example.inputs["text_pair"]))) for example in data]


def array_of(example: Example, key: str) -> Tensor:
    """Return an array input in single precision."""
    return torch.from_numpy(np.array(_given(example, key), np.float32))


def stacked(data: Dataset, key: str) -> Tensor:
    """Stack all arrays of a split, (examples, ...)."""
    arrays = [array_of(example, key) for example in data]
    shapes = {tuple(a.shape) for a in arrays}
    if len(shapes) != 1:
        shapes_seen = " and ".join(map(str, sorted(shapes)[:2])) or phrase("errors.training.no_examples")
        raise InputError(
            phrase("errors.training.arrays_key", key=key, data=data.name),
            expected=phrase("errors.training.one_shape_for_all"),
            got=shapes_seen,
        )
    return torch.stack(arrays)


def _given(example: Example, key: str) -> object:
    if key not in example.inputs:
        inputs = ", ".join(example.inputs) or phrase("errors.common.nothing")
        kinds = {"text": "classifier", "image": "vision", "series": "series", "row": "tabular"}
        fits = next((kind for name, kind in kinds.items() if name in example.inputs), "")
        remedy = f"regard train {fits}" if fits else ""
        raise InputError(
            phrase("errors.common.example_example", example=repr(example.id)),
            expected=phrase("errors.common.input_entries", entries=repr(key)),
            got=inputs,
            remedy=remedy,
        )
    return example.inputs[key]


def categories_of(example: Example) -> list[str]:
    """Return the categories beside a table row, one for each category column."""
    return [str(value) for value in example.inputs.get("categories", ())]


def column_names(data: Dataset) -> list[Json]:
    """Names of table columns or series channels, if the data have them."""
    return list(data.columns) if isinstance(data, Examples) else []
