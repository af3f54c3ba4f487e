"""Comparison before and after on the same seeds and examples, and the claim that their difference supports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from regard.improve.measurements import Better, Columns, Plan, Quantity
from regard.measures.hierarchical import paired_over_seeds
from regard.measures.significance import holm
from regard.message import Message, encoded
from regard.records import Floats, Json

Verdict = Literal["better", "worse", "no significant change", "too few examples"]
VERDICT_KEYS: Mapping[Verdict, str] = {
    "better": "better",
    "worse": "worse",
    "no significant change": "none",
    "too few examples": "few",
}
"""Verdict -> its words in the catalogues: `improvement.verdict_KEY`."""
LEVEL = 0.05
DRAWS = 4000
FEW_SEEDS = 2
"""Minimum number of seeds from which the means of the seeds must agree as well (Student's paired t).

Two seeds must not say more than three. One seed is about one pair of networks, and the report says so.
"""


@dataclass(frozen=True, slots=True)
class Row:
    """Quantity before and after.

    before, after: means over the pairs of (seed, example) that have both. difference: after - before, with its interval
    over seeds and examples. p: bootstrap p-value; corrected: after Holm over the rows; p_seeds: Student's paired t over
    the means of the seeds, None with one. seeds_better: number of `seeds` whose mean improved. n: pairs, of `examples`
    different examples.
    """

    quantity: str
    words: Message
    better: Better
    before: float
    after: float
    difference: float
    low: float
    high: float
    p: float
    corrected: float
    p_seeds: float | None
    seeds_better: int
    seeds: int
    n: int
    examples: int
    verdict: Verdict

    @property
    def seeds_differ(self) -> bool:
        """Return whether only the paired t over seeds fails."""
        return self.verdict == "no significant change" and self.corrected < LEVEL and self.seeds >= FEW_SEEDS

    def to_json(self) -> dict[str, Json]:
        """Every field; null for an undefined number, as JSON has no NaN."""
        return {k: None if isinstance(v, float) and np.isnan(v) else v for k, v in encoded(self).items()}

    def sentence(self) -> str:
        """The row in one line, in the current language.

        >>> Row("a", Message("improvement.accuracy"), "higher", .75, .74, -.01, -.03, .01, .4, 1, .5, 1, 5, 10, 2,
        ...     "no significant change").sentence()
        'clean accuracy 0.750 -> 0.740 (-0.010, 95 % interval -0.030 to +0.010): no significant change'
        """
        numbers = {name: getattr(self, name) for name in ("before", "after", "difference", "low", "high")}
        verdict = Message(f"improvement.verdict_{VERDICT_KEYS[self.verdict]}")
        return str(Message("improvement.sentence", {"words": self.words, "verdict": verdict, **numbers}))


def compared(
    before: Sequence[Columns], after: Sequence[Columns], plan: Plan, clusters: Mapping[str, str]
) -> tuple[Row, ...]:
    """Compare the columns of each seed in `before` and `after`, in the same order.

    clusters: example id -> independent draw.
    """
    rows = []
    for quantity in plan.quantities():
        if all(quantity.name in columns for columns in (*before, *after)):
            rows.append(_row(quantity, before, after, clusters, plan.seed))
    corrected = holm([row.p for row in rows]) if rows else np.zeros(0)
    return tuple(_decided(row, float(p)) for row, p in zip(rows, corrected, strict=True))


def _row(
    quantity: Quantity, before: Sequence[Columns], after: Sequence[Columns], clusters: Mapping[str, str], seed: int
) -> Row:
    ids = list(before[0][quantity.name])
    old, new = (
        np.array([[columns[quantity.name].get(i, np.nan) for i in ids] for columns in side]) for side in (before, after)
    )
    paired = paired_over_seeds(new, old, [clusters.get(i, i) for i in ids], seed=seed, draws=DRAWS)
    both = ~(np.isnan(old) | np.isnan(new))
    draws = len({clusters.get(i, i) for i, there in zip(ids, both.any(0), strict=True) if there})
    # resampling three examples that agree knows no doubt; a sign test on as many could show no more than this
    p = max(paired.p, 2.0 ** (1 - draws)) if draws else 1.0
    sign = 1 if quantity.better == "higher" else -1
    return Row(
        quantity.name,
        quantity.words,
        quantity.better,
        before=_mean(old, both),
        after=_mean(new, both),
        difference=paired.estimate,
        low=paired.low,
        high=paired.high,
        p=p,
        corrected=p,
        p_seeds=None if np.isnan(paired.p_seeds) else paired.p_seeds,
        seeds_better=sum(sign * d > 0 for d in paired.by_seed),
        seeds=len(paired.by_seed),
        n=paired.n,
        examples=paired.examples,
        verdict="no significant change",
    )


def _mean(values: Floats, defined: np.ndarray) -> float:
    return float(values[defined].mean()) if defined.any() else float("nan")


def _decided(row: Row, corrected: float) -> Row:
    seeds_agree = row.seeds < FEW_SEEDS or (row.p_seeds is not None and row.p_seeds < LEVEL)
    # without an interval nothing was found out: not even that nothing changed
    verdict: Verdict = "too few examples" if np.isnan(row.low) else "no significant change"
    if corrected < LEVEL and seeds_agree:
        verdict = "better" if (row.difference > 0) == (row.better == "higher") else "worse"
    return replace(row, corrected=corrected, verdict=verdict)
