"""`sunspots`: a real series for forecasting."""

from __future__ import annotations

from typing import Literal

import numpy as np

from regard.datasets import sampling
from regard.datasets.examples import Examples
from regard.datasets.packages import package_bytes
from regard.datasets.splits import FRACTIONS, checked
from regard.errors import InputError, phrase
from regard.records import Example, Floats, Message, frozen
from regard.registry import method

CYCLE = 11
"""Years of one sunspot cycle; windows of one cycle are not independent draws."""


@method("dataset", modality="series", licence="public domain", package="statsmodels==0.15.0", real=True)
def sunspots(
    *,
    split: str = "test",
    n: int | None = None,
    seed: int = 0,
    every: Literal["year", "month"] = "year",
    window: int = 22,
    horizon: int = 1,
) -> Examples:
    """Sunspot numbers, yearly from 1700 to 2008 or monthly from 1749: a window, and the values that follow it.

    Input: the last `window` values (window, 1); label: the next `horizon` values, a list. The splits are consecutive in
    time (80/10/10): no forecast target of dev or test appears in train, nor one of test in dev. group: the 11-year
    period in which the forecast begins.
    Reference: National Geophysical Data Center (Boulder), in statsmodels.
    """
    split = checked(split)
    years, values = _yearly() if every == "year" else _monthly()
    total = len(values) - window - horizon + 1
    if window < 1 or horizon < 1 or total < 10:
        expected = phrase("errors.datasets.window_and_horizon_at_least", n=len(values))
        raise InputError("sunspots", expected=expected, got=f"window={window}, horizon={horizon}")
    ends = np.cumsum([0, *FRACTIONS.values()])
    bounds = {name: (ends[i], ends[i + 1]) for i, name in enumerate(FRACTIONS)} | {"all": (0.0, 1.0)}
    low, high = (round(float(share) * len(values)) for share in bounds[split])
    items = []
    for start in range(total):
        first, last = start + window, start + window + horizon
        if low <= first and last <= high:
            group = f"{years[first] // CYCLE * CYCLE} to {years[first] // CYCLE * CYCLE + CYCLE - 1}"
            inputs = {"series": frozen(values[start:first, None])}
            items.append(Example(f"{every}-{first:05d}", inputs, values[first:last].tolist(), group=group))
    if not items:
        raise InputError(
            phrase("errors.datasets.sunspots_split", split=repr(split)),
            expected=phrase("errors.datasets.room_for_window"),
            got=f"horizon={horizon}",
        )
    note = Message.of(f"data.sunspots_{every}", all=len(values), split=split, n=len(items))
    sample = tuple(sampling.stratified(items, n, seed=seed))
    return Examples("sunspots", sample, (), (note,), columns=("sunspots",), modality="series")


def _yearly() -> tuple[list[int], Floats]:
    table = np.loadtxt(
        _text("sunspots.csv", "f67889b1d9002cd5227f0e0ef54e35b419cdd85a31279adef6f73fb41e5c0a9b")[1:], delimiter=","
    )
    return [int(year) for year in table[:, 0]], table[:, 1]


def _monthly() -> tuple[list[int], Floats]:
    lines = _text("src/sunspots_monthly.dat", "cc303d26340b6d599bc2878899f8c50c12323dc04b52a26ad047965ea2b9d2a3")
    rows = [line.split() for line in lines if line[:4].isdigit()]
    whole = [row for row in rows if len(row) == 13]
    values = np.array([[float(v) for v in row[1:]] for row in whole])
    return [int(row[0]) for row in whole for _ in range(12)], values.ravel()


def _text(inside: str, sha256: str) -> list[str]:
    content = package_bytes(
        "statsmodels",
        f"datasets/sunspots/{inside}",
        sha256=sha256,
        needs="statsmodels 0.15.0",
        remedy="pip install --no-deps statsmodels==0.15.0",
    )
    return content.decode("ascii").splitlines()
