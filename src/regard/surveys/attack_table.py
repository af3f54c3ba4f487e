"""Table of attacks: success with its denominator and interval, queries, size of the change; worst case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

import numpy as np

from regard.measures.intervals import wilson
from regard.records import Attacked, Json, Message, Text

GRID = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
WORST = "worst case"


@dataclass(frozen=True, slots=True)
class AttackRow:
    """Row of one attack. attacked: the denominator, correctly predicted examples that can be attacked.

    low, high: Wilson, 95 %. holds: share of all examples whose prediction is right and stays so (NaN if the attack
    keeps the prediction). queries, perturbed, similarity: over successes, but queries_all over all attacked examples.
    budget: (queries, share of successes by then). skipped: reasons by their id. extras: means. notes: with the number
    of examples of each.
    """

    attack: str
    access: str
    n: int
    attacked: int
    skipped: Mapping[str, int]
    successes: int
    rate: float
    low: float
    high: float
    holds: float
    queries: float
    queries_all: float
    queries_95: float
    perturbed: float
    similarity: float
    similarity_is: str
    budget: tuple[tuple[int, float], ...] = ()
    extras: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[tuple[Text, int], ...] = ()

    def to_json(self) -> dict[str, Json]:
        notes = {str(note): n for note, n in self.notes}
        return {**asdict(replace(self, notes=())), "budget": [list(p) for p in self.budget], "notes": notes}


def row(attack: str, access: str, found: Sequence[Attacked], budget: int, *, keeps: bool = False) -> AttackRow:
    """The row of one attack; `keeps`: one that leaves the prediction as it is."""
    met = [one for one in found if one.status != "skipped"]
    hits = [one for one in met if one.status == "success"]
    low, high = (float(x) for x in wilson(len(hits), len(met))) if met else (float("nan"), float("nan"))
    reached = np.array([one.curve[-1][0] if one.curve else one.queries for one in hits], np.float64)
    steps = [q for q in GRID if q < budget] + [budget]
    names = sorted({name for one in hits for name in one.extras})
    left = dict(Counter(one.why for one in found if one.status == "skipped"))
    wrong = sum(one.why == "misclassified" for one in found)
    return AttackRow(
        attack=attack,
        access=access,
        n=len(found),
        attacked=len(met),
        skipped=left,
        successes=len(hits),
        rate=len(hits) / len(met) if met else float("nan"),
        low=low,
        high=high,
        holds=(len(found) - wrong - len(hits)) / len(found) if found and not keeps else float("nan"),
        queries=_middle([one.queries for one in hits]),
        queries_all=_middle([one.queries for one in met]),
        queries_95=float(np.quantile([one.queries for one in met], 0.95)) if met else float("nan"),
        perturbed=_mean([one.perturbed for one in hits]),
        similarity=_mean([one.similarity for one in hits]),
        similarity_is=next((one.similarity_is for one in met), ""),
        budget=tuple((q, float((reached <= q).sum()) / len(met)) for q in steps) if met else (),
        extras={name: _mean([one.extras[name] for one in hits if name in one.extras]) for name in names},
        notes=tuple(Counter(note for one in met for note in one.notes if not _of_one_example(note)).items()),
    )


def worst(found: Mapping[str, Sequence[Attacked]], budget: int) -> AttackRow | None:
    """Worst case: an example holds if it holds against every attack on the prediction; None for a single attack."""
    if len(found) < 2:
        return None
    best: list[Attacked] = []
    for same in zip(*found.values(), strict=True):
        met = [one for one in same if one.status != "skipped"]
        hits = [one for one in met if one.status == "success"]
        best.append(min(hits, key=lambda one: one.perturbed) if hits else met[0] if met else same[0])
    return row(WORST, "all of these", best, budget * len(found))


def _of_one_example(note: Text) -> bool:
    """Return whether a note belongs to a single example, which has no meaningful count."""
    return isinstance(note, Message) and note.key in ("attack.note.trigger", "attack.note.by")


def _middle(values: Sequence[float]) -> float:
    return float(np.median(values)) if len(values) else float("nan")


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else float("nan")
