"""What networks read of an example."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from regard.datasets.examples import Examples
from regard.errors import InputError
from regard.protocols import Dataset
from regard.records import Example, Json


def text_of(example: Example) -> str:
    """The text, with the second text after it where there is one, as the adapter of these networks reads them."""
    text = _given(example, "text")
    pair = example.inputs.get("text_pair")
    return str(text) if pair is None else f"{text} {pair}"


def array_of(example: Example, key: str) -> Tensor:
    """An input that is an array, in single precision."""
    return torch.from_numpy(np.array(_given(example, key), np.float32))


def stacked(data: Dataset, key: str) -> Tensor:
    """All arrays of a split as one, (examples, ...)."""
    arrays = [array_of(example, key) for example in data]
    shapes = {tuple(a.shape) for a in arrays}
    if len(shapes) != 1:
        got = " and ".join(map(str, sorted(shapes)[:2])) or "no examples"
        raise InputError(f"{key} arrays of {data.name}", expected="one shape for all", got=got)
    return torch.stack(arrays)


def _given(example: Example, key: str) -> object:
    if key not in example.inputs:
        there = ", ".join(example.inputs) or "nothing"
        kinds = {"text": "classifier", "image": "vision", "series": "series", "row": "tabular"}
        fits = next((kind for name, kind in kinds.items() if name in example.inputs), "")
        raise InputError(
            f"example {example.id!r}", expected=f"an input {key!r}", got=there,
            remedy=f"regard train {fits}" if fits else "",
        )  # fmt: skip
    return example.inputs[key]


def column_names(data: Dataset) -> list[Json]:
    """Names of the columns of a table, or of the channels of a series, where the data has them."""
    return list(data.columns) if isinstance(data, Examples) else []
