"""The .ts files of the time-series classification archive inside the sktime wheel; sktime itself is not imported."""

from __future__ import annotations

import numpy as np

from regard.datasets.packages import package_bytes
from regard.errors import InputError, phrase
from regard.records import Floats, frozen


def parse_ts(text: str) -> list[tuple[Floats, str]]:
    """Return (steps, channels) and the class of every line; colons separate channels, the class comes last.

    >>> parse_ts("@classLabel true a b\\n@data\\n1,2,3:4,5,6:a\\n")[0][0].shape
    (3, 2)
    """
    rows = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.startswith(("#", "@")):
            continue
        *channels, label = line.strip().split(":")
        try:
            values = [[float(v) for v in channel.split(",")] for channel in channels]
            series = frozen(np.array(values, dtype=np.float64).T)
        except ValueError as error:
            raise InputError(
                phrase("errors.datasets.line_number", number=number),
                expected=phrase("errors.datasets.numbers_parted_by_commas"),
                got=str(error),
            ) from None
        rows.append((series, label))
    return rows


def packaged_series(problem: str, *, sha256: dict[str, str]) -> list[tuple[Floats, str]]:
    """Read both files of one problem, one after the other."""
    rows = []
    for part, expected in sha256.items():
        content = package_bytes(
            "sktime",
            f"datasets/data/{problem}/{problem}_{part}.ts",
            sha256=expected,
            needs="sktime 1.2.0",
            remedy="pip install sktime==1.2.0",
        )
        rows += parse_ts(content.decode("utf-8"))
    return rows
