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
    random_rankings = [r for r, o in evidence.pointing if o == operator and r.startswith(RANDOM)]
    chance = np.mean([effect(evidence, r, operator) for r in random_rankings], axis=0)
    size_index = [evidence.sizes.index(k) for k in sizes if k in evidence.sizes]
    values = (effect(evidence, ranking, operator) - chance)[:, size_index]
    defined = ~np.isnan(values)
    total = np.where(defined, values, 0.0).sum(-1)
    return np.where(defined.any(-1), total / np.maximum(defined.sum(-1), 1), np.nan)


def others(evidence: Evidence, operator: str) -> list[str]:
    """The rankings that attention is compared with: none that was made with the operator that judges it."""
    return [
        r
        for (r, o), curves in evidence.pointing.items()
        if o == operator and r != ATTENTION and not r.startswith(RANDOM) and not curves.own
    ]


def judged(evidence: Evidence, inside: Bools, operator: str, sizes: Sequence[int], name: str) -> Found:
    """One class by one operator."""
    where: dict[str, Json] = {"class": name, "operator": operator, "sizes": list(sizes)}
    clusters = np.asarray(evidence.clusters, np.str_)[inside]
    gains = gain(evidence, ATTENTION, operator, sizes)[inside]
    other_gains = {r: gain(evidence, r, operator, sizes)[inside] for r in others(evidence, operator)}
    means = {r: float(np.nanmean(g)) for r, g in other_gains.items() if np.isfinite(g).any()}
    if not means:
        return Found("imprecise", float("nan"), (), {**where, "answer": "imprecise", "n": 0})
    best = max(means, key=lambda r: means[r])
    top = other_gains[best]

    def test(label: Message, claim: Literal["above", "below"], margin: float, values: Floats) -> Test:
        return Test(label, claim, margin, Mean.of(values, clusters), {**where, "best": best})

    def share(part: float, claim: Literal["above", "below"]) -> Test:
        label = Message.of("judge.points.gain_beyond", share=part, ranking=best)
        return test(label, claim, 0.0, gains - part * top)

    of_best = Message.of("judge.points.gain", ranking=best)
    little, much = test(of_best, "below", FOUND, top), test(of_best, "above", FOUND, top)
    any_gain = test(Message("judge.points.gain_attention"), "above", 0.0, gains)
    good, not_good = share(GOOD, "above"), share(GOOD, "below")
    bad, not_bad = share(POOR, "below"), share(POOR, "above")
    rules: list[tuple[Cell, tuple[Test, ...]]] = [
        ("none", (little,)),
        ("holds", (much, good, any_gain)),
        ("fails", (much, bad)),
        ("mixed", (much, not_bad, not_good)),
    ]
    cell, tests = next(((c, t) for c, t in rules if all(x.passes for x in t)), ("imprecise", (much, good, bad)))
    mean_gain = float(np.nanmean(gains))
    ratio = mean_gain / means[best] if means[best] > 0 else float("nan")
    row: dict[str, Json] = {
        **where,
        "answer": cell,
        "n": int(np.isfinite(gains).sum()),
        "gain of attention": round(mean_gain, 4),
        "best": best,
        "best gain": round(means[best], 4),
        "share": round(ratio, 3) if np.isfinite(ratio) else None,
        "against": _against(evidence, inside, operator),
    }
    leaning: tuple[Test, ...] = (little,) if means[best] < FOUND else (much, good) if ratio > GOOD else (much, bad)
    if means[best] >= FOUND and POOR < ratio <= GOOD:
        leaning = (much, not_bad, not_good)
    return Found(cell, all_of(tests) if cell != "imprecise" else float("nan"), tests, row, leaning)


def _against(evidence: Evidence, inside: Bools, operator: str) -> float | None:
    """Share of examples in which the prediction gets surer without the word that is looked at most."""
    without = evidence.pointing[ATTENTION, operator].removed[:, 0][inside]
    finite = np.isfinite(without)
    return round(float((without > evidence.probability[inside] + 1e-6)[finite].mean()), 3) if finite.any() else None
