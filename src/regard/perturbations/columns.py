"""Row to perturb, and the statistics of its columns.

A single row does not show how far its values may move. `fitted` measures that on data and stores it in the parameters
of the Spec, so that the noise is the same everywhere; users can also set it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from regard.errors import InputError, phrase
from regard.records import Example, Floats, Perturbed, Spec
from regard.registry import entry

FEW = 10
"""Maximum distinct values of an integer column that counts as a code, not a quantity."""


def fitted(spec: Spec, examples: Sequence[Example]) -> Spec:
    """Add `centre` (median) and `spread` (standard deviation, 0 for codes) of the columns, if the Spec needs them.

    >>> rows = [Example(str(i), {"row": [i / 2, i % 2]}) for i in range(4)]
    >>> fitted(Spec("perturbation", "column_noise"), rows).params["spread"]
    [0.559017, 0.0]
    """
    facts = entry("perturbation", spec.name).facts
    parameters = {p.name for p in entry("perturbation", spec.name).parameters} & {"centre", "spread"}
    rows = [np.asarray(e.inputs["row"], np.float64) for e in examples if "row" in e.inputs]
    if facts["modality"] != "table" or not parameters - set(spec.params) or not rows:
        return spec
    table = np.stack(rows)
    spread = np.array([0.0 if _code(column) else column.std() for column in table.T])
    statistics: dict[str, Any] = {
        "centre": np.median(table, axis=0).round(6).tolist(),
        "spread": spread.round(6).tolist(),
    }
    return Spec(spec.kind, spec.name, {name: statistics[name] for name in parameters} | dict(spec.params))


def _code(column: Floats) -> bool:
    """Return whether a column looks like a code: few distinct whole numbers."""
    return bool((column == column.round()).all()) and len(np.unique(column)) <= FEW


def row_of(example: Example, statistics: Sequence[float], what: str, noise: str) -> tuple[Floats, Floats]:
    """Return (columns,) the row and the column statistics; raise if their sizes differ."""
    row = np.array(example.inputs["row"], np.float64)
    if row.ndim != 1:
        raise InputError(
            phrase("errors.common.example_example", example=repr(example.id)),
            expected=phrase("errors.perturbations.row_numbers"),
            got=phrase("errors.common.shape_shape", shape=row.shape),
        )
    if len(statistics) != len(row):
        remedy = phrase("errors.perturbations.or_regard_perturbations_columns", noise=noise, what=what)
        expected = phrase("errors.perturbations.columns_what", what=what, n=len(row))
        raise InputError(
            phrase("errors.perturbations.perturbation_spec", spec=noise),
            expected=expected,
            got=phrase("errors.common.numbers_n", n=len(statistics)),
            remedy=remedy,
        )
    return row, np.asarray(statistics, np.float64)


def with_row(example: Example, row: Floats) -> Perturbed:
    original = np.asarray(example.inputs["row"])
    dtype = original.dtype if np.issubdtype(original.dtype, np.floating) else np.dtype(np.float64)
    return Perturbed(replace(example, inputs={**example.inputs, "row": row.astype(dtype)}))
