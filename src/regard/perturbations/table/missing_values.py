"""Missing values."""

from __future__ import annotations

from regard.measures.keyed_random import Stream
from regard.perturbations.columns import row_of, with_row
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(
    modality="table", family="loss", scale="5, 10, 20, 35, 50 % of the columns, at least one", needs=("columns",)
)
def missing_values(example: Example, severity: int, rng: Stream, *, centre: tuple[float, ...] = ()) -> Perturbed:
    """Replace some columns by the column median, as imputation of missing values does.

    centre: the middle of every column; measured on the data where a case, `regard perturb` or `fitted` puts it on.
    """
    row, middle = row_of(example, centre, "centre", "missing_values")
    missing = rng.sample(len(row), max(1, round((0.05, 0.1, 0.2, 0.35, 0.5)[severity - 1] * len(row))))
    row[missing] = middle[missing]
    return with_row(example, row)
