"""`python -m benchmarks.margins`: how much do verdicts on the development half depend on the judge's margins?

Judges the stored evidence of `make truth` again, on all examples, with one margin moved at a time. Prints wrong and
right cells for every value and writes results/margins.json. Never touches the sealed half.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.__main__ import commit
from benchmarks.truth import Row, evidence, judged, scored
from regard.judge import margins
from regard.judge.points_at_evidence import by_class
from regard.planted.growing.truth import zoo

RESULTS = Path(__file__).parent / "results" / "margins.json"
VALUES: dict[str, tuple[float, ...]] = {
    "GOOD": (0.6, 0.65, 0.75, 0.8),
    "POOR": (0.2, 0.4),
    "FOUND": (0.02, 0.1),
    "MATTERS": (0.03, 0.1),
    "DOES_NOT_MATTER": (0.03,),
    "FOLLOWS": (0.3, 0.7),
    "LENIENT": (0.1, 0.3),
    "MOSTLY": (0.4, 0.6),
}


@contextmanager
def moved(name: str, value: float) -> Iterator[None]:
    """Give every module of the judge another value of a margin."""
    users = [m for key, m in sys.modules.items() if key.startswith("regard.judge.") and hasattr(m, name)]
    before = getattr(margins, name)
    for module in users:
        setattr(module, name, value)
    by_class.cache_clear()
    try:
        yield
    finally:
        for module in users:
            setattr(module, name, before)
        by_class.cache_clear()


def main() -> int:
    settings = [("as fixed", 0.0), *((name, value) for name, values in VALUES.items() for value in values)]
    rows: dict[tuple[str, float], list[Row]] = {setting: [] for setting in settings}
    for stand in zoo("dev"):
        run, model = evidence(stand)
        for name, value in settings:
            with moved(name, value) if hasattr(margins, name) else moved("LEVEL", margins.LEVEL):
                rows[name, value].append(judged(stand, run, model, rounds=False))
    table = []
    for (name, value), judged_rows in rows.items():
        scores = scored(judged_rows)
        figures = {key: scores[key]["count"] for key in ("wrong", "power", "wrong_readings", "right_readings")}
        table.append({"margin": name, "value": value, "cells": scores["cells"], **figures})
        print(table[-1], flush=True)
    record = {"command": "python -m benchmarks.margins", "commit": commit(), "half": "dev", "rows": table}
    RESULTS.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
