"""How much better than random a ranking finds what the prediction needs, and what follows for one class.

    support(.) = max(p(c | .) - neutral level, 0)
    effect of a ranking, size, operator = support(its first k alone) - support(without its first k)
    gain = effect - mean effect of random rankings

Clipped, because below the neutral level one no longer takes evidence away but makes evidence against.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from regard.judge.evidence import Evidence
from regard.judge.margins import FOUND, GOOD, POOR
from regard.judge.mean_tests import Mean, Test, all_of
from regard.records import Bools, Floats, Json, Message

Cell = Literal["holds", "fails", "mixed", "none", "leans", "imprecise"]
ATTENTION = "attention"
RANDOM = "random"


@dataclass(frozen=True, slots=True)
class Found:
    """What one class, operator and range of sizes says. deciding: what would have to pass, had it been precise."""

    cell: Cell
    p: float
    tests: tuple[Test, ...]
    row: Mapping[str, Json]
    deciding: tuple[Test, ...] = ()


def effect(evidence: Evidence, ranking: str, operator: str) -> Floats:
    """(examples, sizes)."""
    curves = evidence.pointing[ranking, operator]
    level = evidence.neutral[:, None]
    without = np.maximum(curves.removed - level, 0.0)
    alone = 0.0 if curves.kept is None else np.maximum(curves.kept - level, 0.0)
    return np.asarray(alone - without)


def gain(evidence: Evidence, ranking: str, operator: str, sizes: Sequence[int]) -> Floats:
    """(examples,) the mean over the sizes; NaN where none of them fits the example."""
    drawn = [r for r, o in evidence.pointing if o == operator and r.startswith(RANDOM)]
    chance = np.mean([effect(evidence, r, operator) for r in drawn], axis=0)
    chosen = [evidence.sizes.index(k) for k in sizes if k in evidence.sizes]
    values = (effect(evidence, ranking, operator) - chance)[:, chosen]
    there = ~np.isnan(values)
    total = np.where(there, values, 0.0).sum(-1)
    return np.where(there.any(-1), total / np.maximum(there.sum(-1), 1), np.nan)


def others(evidence: Evidence, operator: str) -> list[str]:
    """The rankings that attention is compared with: none that was made with the operator that judges it."""
    return [
        r for (r, o), curves in evidence.pointing.items()
        if o == operator and r != ATTENTION and not r.startswith(RANDOM) and not curves.own
    ]  # fmt: skip


def judged(evidence: Evidence, inside: Bools, operator: str, sizes: Sequence[int], name: str) -> Found:
    """One class by one operator."""
    where: dict[str, Json] = {"class": name, "operator": operator, "sizes": list(sizes)}
    clusters = np.asarray(evidence.clusters, np.str_)[inside]
    ours = gain(evidence, ATTENTION, operator, sizes)[inside]
    theirs = {r: gain(evidence, r, operator, sizes)[inside] for r in others(evidence, operator)}
    means = {r: float(np.nanmean(g)) for r, g in theirs.items() if np.isfinite(g).any()}
    if not means:
        return Found("imprecise", float("nan"), (), {**where, "answer": "imprecise", "n": 0})
    best = max(means, key=lambda r: means[r])
    top = theirs[best]

    def test(label: Message, claim: Literal["above", "below"], margin: float, values: Floats) -> Test:
        return Test(label, claim, margin, Mean.of(values, clusters), {**where, "best": best})

    def share(part: float, claim: Literal["above", "below"]) -> Test:
        label = Message.of("judge.points.gain_beyond", share=part, ranking=best)
        return test(label, claim, 0.0, ours - part * top)

    of_best = Message.of("judge.points.gain", ranking=best)
    little, much = test(of_best, "below", FOUND, top), test(of_best, "above", FOUND, top)
    some = test(Message("judge.points.gain_attention"), "above", 0.0, ours)
    good, not_good = share(GOOD, "above"), share(GOOD, "below")
    bad, not_bad = share(POOR, "below"), share(POOR, "above")
    rules: list[tuple[Cell, tuple[Test, ...]]] = [
        ("none", (little,)), ("holds", (much, good, some)), ("fails", (much, bad)), ("mixed", (much, not_bad, not_good))
    ]  # fmt: skip
    cell, tests = next(((c, t) for c, t in rules if all(x.passes for x in t)), ("imprecise", (much, good, bad)))
    mine = float(np.nanmean(ours))
    ratio = mine / means[best] if means[best] > 0 else float("nan")
    row: dict[str, Json] = {
        **where, "answer": cell, "n": int(np.isfinite(ours).sum()), "gain of attention": round(mine, 4), "best": best,
        "best gain": round(means[best], 4), "share": round(ratio, 3) if np.isfinite(ratio) else None,
        "against": _against(evidence, inside, operator),
    }  # fmt: skip
    leaning: tuple[Test, ...] = (little,) if means[best] < FOUND else (much, good) if ratio > GOOD else (much, bad)
    if means[best] >= FOUND and POOR < ratio <= GOOD:
        leaning = (much, not_bad, not_good)
    return Found(cell, all_of(tests) if cell != "imprecise" else float("nan"), tests, row, leaning)


def _against(evidence: Evidence, inside: Bools, operator: str) -> float | None:
    """Share of examples in which the prediction gets surer without the word that is looked at most."""
    without = evidence.pointing[ATTENTION, operator].removed[:, 0][inside]
    there = np.isfinite(without)
    return round(float((without > evidence.probability[inside] + 1e-6)[there].mean()), 3) if there.any() else None
