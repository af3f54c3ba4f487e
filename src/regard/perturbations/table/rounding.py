"""Rounded values."""

from __future__ import annotations

import numpy as np

from regard.measures.keyed_random import Stream
from regard.perturbations.columns import with_row
from regard.records import Example, Perturbed
from regard.registry import perturbation


@perturbation(
    modality="table",
    family="digital",
    scale="to 1, 5, 10, 50, 100 hundredths of the leading digit",
    misleads="whole numbers below ten have one digit already: counts and codes stay unchanged",
)
def rounding(example: Example, severity: int, rng: Stream) -> Perturbed:
    """Round every value: to three digits, two and a half, two, one and a half, or one.

    Rounding is relative to the value itself, so no statistics of the columns are needed.
    """
    row = np.asarray(example.inputs["row"], np.float64)
    leading = 10 ** np.floor(np.log10(np.where(row == 0, 1.0, np.abs(row))))
    step = leading * (0.01, 0.05, 0.1, 0.5, 1.0)[severity - 1]
    return with_row(example, np.rint(row / step) * step)
