"""The slices of every example of a run: length, confidence, predicted class, correctness, columns of the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from regard.records import Floats

LENGTH, CONFIDENCE, CLASS, LABEL, COLUMN = "length", "confidence", "class", "label", "column"


def slice_columns(
    examples: Sequence[Mapping[str, Any]], labels: Sequence[str] = ()
) -> dict[tuple[str, str], tuple[str, ...]]:
    """(kind, column) -> the slice of each example; "" where it belongs to none. Lengths and confidences are halved.

    labels: the names of the model's classes, by number.
    """
    columns: dict[tuple[str, str], tuple[str, ...]] = {}
    lengths = [_length(e) for e in examples]
    if None not in lengths:
        columns[LENGTH, ""] = _halves(np.array(lengths, np.float64), ("short", "long"))
    probabilities = np.array([float(e["probability"]) for e in examples])
    columns[CONFIDENCE, ""] = _halves(probabilities, ("unsure", "sure"))
    columns[CLASS, ""] = tuple(str(e["predicted"]) for e in examples)
    if any(e.get("label") is not None for e in examples):
        columns[LABEL, ""] = tuple(_correctness(e, labels) for e in examples)
    for name in sorted({str(c) for e in examples for c in e.get("slices") or {}}):
        values = tuple(str((e.get("slices") or {}).get(name, "")) for e in examples)
        columns[COLUMN, name] = values
    return columns


def _correctness(example: Mapping[str, Any], labels: Sequence[str]) -> str:
    label = example.get("label")
    if label is None:
        return ""
    if isinstance(label, int) and not isinstance(label, bool) and 0 <= label < len(labels):
        label = labels[label]
    return "correct" if str(label) == str(example["predicted"]) else "error"


def _length(example: Mapping[str, Any]) -> int | None:
    units = example.get("units")
    return None if not isinstance(units, Mapping) else sum(not special for special in units["special"])


def _halves(values: Floats, names: tuple[str, str]) -> tuple[str, ...]:
    middle = float(np.median(values)) if len(values) else 0.0
    upper = values > middle
    return tuple(names[int(flag)] for flag in upper)
