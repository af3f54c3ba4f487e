"""One finding of an experiment: a score that the judge reads and that is neither good nor bad by itself."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from regard.records import Floats, Json, Score


def finding(
    metric: str,
    ids: tuple[str, ...],
    values: Floats,
    where: Mapping[str, Json],
    *,
    method: str = "attention",
    better: Literal["higher", "lower", "none"] = "none",
    curves: Mapping[str, Floats] = MappingProxyType({}),
    grid: tuple[float, ...] = (),
) -> Score:
    """Build the score of a method, by default of attention, for these examples."""
    return Score(metric, method, ids, values, better, where, dict(curves), grid)
