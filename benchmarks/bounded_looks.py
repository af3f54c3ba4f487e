"""Wrong claims over all looks, for values with known bounds, where early looks can decide nothing.

Used by `benchmarks.coverage` (part "bounded looks"). Where the truth lies exactly at the margin, every claim is wrong;
where all values are small, it is right. "all looks" spends the level on every look, "deciding looks" on those at which
the claim can pass (`Mean.fractions_of`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from regard.audits.rounds import PILOT, planned_looks
from regard.judge.margins import DOES_NOT_MATTER, LEVEL, MATTERS, PASSES_BY
from regard.judge.mean_tests import Mean
from regard.measures.alpha_spending import fractions_now
from regard.measures.intervals import clopper_pearson
from regard.records import Floats, Json

MOST = (100, 200, 400)
SMALL = "small"


def bounded_looks(runs: int, seed: int, sizes: Sequence[int] = MOST) -> list[dict[str, Json]]:
    """Return one row per margin, number of examples and kind of values: (share that moves, size of the move)."""
    rows: list[dict[str, Json]] = []
    for margin in (DOES_NOT_MATTER, MATTERS, PASSES_BY):
        for most in sizes:
            looks = planned_looks(PILOT, most)
            for kind, part, size in (
                ("yes or no", margin, 1.0),
                ("half", 2 * margin, 0.5),
                (SMALL, 1.0, 0.2 * margin),
            ):
                rng = np.random.default_rng([seed, len(rows)])
                counts = np.zeros(2, np.int64)
                for _ in range(runs):
                    moves = size * (rng.random(most) < part)
                    values = rng.exponential(size, most) if kind == SMALL else moves
                    counts += _claims(np.asarray(values, np.float64), looks, margin)
                for name, count in zip(("all looks", "deciding looks"), counts, strict=True):
                    low, high = clopper_pearson(int(count), runs)
                    row: dict[str, Json] = {"margin": margin, "examples": most, "values": kind, "spending": name}
                    rate = {"rate": float(count / runs), "low": low, "high": high, "runs": runs}
                    rows.append({**row, "claim is": "right" if kind == SMALL else "wrong", **rate})
    return rows


def _claims(values: Floats, looks: Sequence[int], margin: float) -> tuple[bool, bool]:
    """Return whether "below the margin" passes at any look, by both ways of spending."""
    whole, deciding = False, False
    for n in looks:
        mean = Mean.of(
            values[:n],
            [str(i) for i in range(n)],
            bounds=(0.0, 1.0),
            fractions=fractions_now(looks, n),
            looks=tuple(k for k in looks if k <= n),
        )
        deciding = deciding or mean.p("below", margin) < LEVEL
        whole = whole or replace(mean, looks=()).p("below", margin) < LEVEL
    return whole, deciding
