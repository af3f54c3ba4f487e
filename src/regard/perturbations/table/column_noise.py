"""Measurement noise."""

from __future__ import annotations

from regard.measures.keyed_random import Stream
from regard.perturbations.columns import row_of, with_row
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(
    modality="table",
    family="noise",
    scale="deviation 0.05, 0.1, 0.2, 0.35, 0.5 of the column's own",
    needs=("columns",),
)
def column_noise(example: Example, severity: int, rng: Stream, *, spread: tuple[float, ...] = ()) -> Perturbed:
    """Add Gaussian noise to every column, scaled by its standard deviation in the data.

    spread: the standard deviation of every column, 0 for fixed columns; by default a case, `regard perturb` or `fitted`
    measures it on the data (columns of few whole numbers count as codes and stay fixed).
    """
    row, wide = row_of(example, spread, "spread", "column_noise")
    size = (0.05, 0.1, 0.2, 0.35, 0.5)[severity - 1]
    return with_row(example, row + size * wide * rng.normals(len(row)))
