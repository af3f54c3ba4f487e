"""Scale of pixel values, 0..1 or 0..255, inferred from type and range."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

ROUNDING = 1e-6
"""Tolerance by which floats may leave 0..1, since resizing and arithmetic leave such remainders."""


def full_brightness(pixels: NDArray[Any]) -> float | None:
    """The value of a fully bright pixel: 255 or 1; None where the numbers are not pixel values.

    uint8 is always 0..255, whatever its largest value. Other numbers within 0..1 are 0..1, larger ones up to 255 are
    0..255. Negative numbers, numbers above 255 and NaN are no pixel values.

    >>> full_brightness(np.array([0.0, 0.5])), full_brightness(np.array([0.0, 7.0])), full_brightness(np.uint8([0, 1]))
    (1.0, 255.0, 255.0)
    >>> full_brightness(np.array([-0.5, 0.5])), full_brightness(np.array([0, 256]))
    (None, None)
    """
    if pixels.dtype == np.uint8:
        return 255.0
    low, high = float(pixels.min()), float(pixels.max())
    if not (low >= -ROUNDING and high <= 255.0 + ROUNDING):
        return None
    return 1.0 if high <= 1.0 + ROUNDING else 255.0
