"""Short description of a data set: size, classes, lengths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from regard.datasets.sampling import MOST_STRATA, stratum_of
from regard.protocols import Dataset
from regard.records import Json

MEASURES = {"text": "words", "image": "pixels", "series": "steps", "row": "columns"}


def describe(data: Dataset) -> list[tuple[str, str]]:
    """Rows (what, value) for the terminal and the report; labels by their names, lengths as quantiles.

    >>> from regard.datasets.builtin.planted import planted
    >>> for what, value in describe(planted(n=100, length=12)):
    ...     print(f"{what}: {value}")
    examples: 100
    labels: negative 50, positive 50
    words: 12
    with rationale: 100
    """
    examples = list(data)
    rows = [("examples", f"{len(examples):,}"), ("labels", _labels([e.label for e in examples], data.labels))]
    for key, unit in MEASURES.items():
        sizes = [_size(e.inputs) for e in examples if key in e.inputs]
        if sizes:
            low, middle, high = (int(v) for v in np.quantile(sizes, (0, 0.5, 1), method="nearest"))
            rows.append((unit, str(low) if low == high else f"{low:,} to {high:,}, median {middle:,}"))
    groups = {e.group for e in examples if e.group is not None}
    with_rationale = sum(e.rationale is not None for e in examples)
    rows += [("groups", f"{len(groups):,}")] if groups else []
    rows += [("with rationale", f"{with_rationale:,}")] if with_rationale else []
    return rows


def _labels(labels: list[Json], names: tuple[str, ...]) -> str:
    present = [label for label in labels if label is not None]
    counts = Counter(map(stratum_of, present))
    if not present:
        return "none"
    if len(counts) > MOST_STRATA:
        return f"{len(counts):,} different values"
    coded = {str(code): name for code, name in enumerate(names)}
    parts = [f"{coded.get(label, label.strip(chr(34)))} {count:,}" for label, count in sorted(counts.items())]
    parts += [f"without {len(labels) - len(present):,}"] if len(present) < len(labels) else []
    return ", ".join(parts)


def _size(inputs: Mapping[str, Any]) -> int:
    """Words of all texts, or the entries of an array (steps for a series)."""
    texts = [value for value in inputs.values() if isinstance(value, str)]
    if texts:
        return sum(len(text.split()) for text in texts)
    (array,) = (value for value in inputs.values() if isinstance(value, np.ndarray))
    return int(array.shape[0] if "series" in inputs else array.shape[0] * (array.shape[1] if array.ndim > 1 else 1))
