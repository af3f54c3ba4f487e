"""Gain over random: how much better than random a ranking finds the evidence, and the conclusion for one class.

    support(.) = max(p(c | .) - neutral level, 0)
    effect of a ranking, size, operator = support(its first k alone) - support(without its first k)
    gain = effect - mean effect of random rankings

Clipped, because below the neutral level one no longer takes evidence away but makes evidence against.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from regard.judge.evidence import Evidence
from regard.judge.margins import FOUND, GOOD, POOR
from regard.judge.mean_tests import Test, all_of, share_bounds
from regard.records import Bools, Floats, Json, Message

Cell = Literal["holds", "fails", "mixed", "none", "leans", "imprecise"]
ATTENTION = "attention"
RANDOM = "random"
TOGETHER = "together"
"""The mean over operators, in the place of the name of one."""
FOLDS = 5


@dataclass(frozen=True, slots=True)
class Found:
    """Result for one class by one operator, or by the mean over operators, for one range of sizes.

    deciding: what would have to pass, had it been precise. parts: every elementary comparison, by name.
    """

    cell: Cell
    tests: tuple[Test, ...]
    row: Mapping[str, Json]
    deciding: tuple[Test, ...] = ()
    parts: Mapping[str, Test] = field(default_factory=dict)
    best_gain: float = float("nan")
    share: float = float("nan")

    @property
    def p(self) -> float:
        return all_of(self.tests) if self.cell != "imprecise" else float("nan")

    def passes(self, name: str) -> bool:
        """Return whether an elementary comparison was made and passed."""
        return name in self.parts and self.parts[name].passes


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
    """Return the rankings to compare attention with, without those made with the operator that judges it."""
    return [
        r
        for (r, o), curves in evidence.pointing.items()
        if o == operator and r != ATTENTION and not r.startswith(RANDOM) and not curves.own
    ]


def best_other(evidence: Evidence, operator: str, sizes: Sequence[int], groups: Sequence[Bools]) -> tuple[Floats, str]:
    """(examples,) the gain of the best other ranking, and its name; NaN outside the groups.

    It is chosen for each group and fold on the examples of the other folds, so that its gain is not that of a winner.
    """
    gains = {name: gain(evidence, name, operator, sizes) for name in others(evidence, operator)}
    names = sorted(set(evidence.clusters))
    place = {name: i % FOLDS for i, name in enumerate(names)}
    folds = np.array([place[name] for name in evidence.clusters], np.int64)
    column = np.full(len(evidence), np.nan)
    wins: Counter[str] = Counter()
    for group in groups:
        for fold in range(FOLDS):
            inside, elsewhere = group & (folds == fold), group & (folds != fold)
            means = {name: _mean(values[elsewhere]) for name, values in gains.items()}
            best = max(means, key=lambda name: means[name], default="")
            if best and np.isfinite(means[best]):
                column[inside] = gains[best][inside]
                wins[best] += int(inside.sum())
    return column, wins.most_common(1)[0][0] if wins else ""


def _mean(values: Floats) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else -np.inf


def judged(
    evidence: Evidence, groups: Sequence[Bools], operators: Sequence[str], sizes: Sequence[int], name: str
) -> Found:
    """Some examples by one operator, or by the mean over several. groups: classes, each with its own best ranking."""
    where: dict[str, Json] = {
        "class": name,
        "operator": operators[0] if len(operators) == 1 else TOGETHER,
        "sizes": list(sizes),
    }
    inside = np.any(groups, axis=0)
    tops = [best_other(evidence, operator, sizes, groups) for operator in operators]
    usable = [(o, top, best) for o, (top, best) in zip(operators, tops, strict=True) if best]
    if not usable:
        return Found("imprecise", (), {**where, "answer": "imprecise", "n": 0})
    gains = np.mean([gain(evidence, ATTENTION, o, sizes) for o, _, _ in usable], axis=0)[inside]
    top = np.mean([column for _, column, _ in usable], axis=0)[inside]
    both = np.isfinite(gains) & np.isfinite(top)
    if not both.any():
        return Found("imprecise", (), {**where, "answer": "imprecise", "n": 0})
    gains, top = gains[both], top[both]
    clusters = [c for c, yes in zip(np.asarray(evidence.clusters, np.str_)[inside], both, strict=True) if yes]
    best = Counter(best for _, _, best in usable).most_common(1)[0][0]
    parts = _parts(evidence, gains, top, clusters, where={**where, "best": best})
    rules: list[tuple[Cell, tuple[str, ...]]] = [
        ("none", ("little",)),
        ("holds", ("much", "good", "any")),
        ("fails", ("much", "bad")),
        ("mixed", ("much", "not_bad", "not_good")),
    ]
    cell, needed = next(
        ((c, n) for c, n in rules if all(parts[x].passes for x in n)), ("imprecise", ("much", "good", "bad"))
    )
    mean_gain, best_gain = float(gains.mean()), float(top.mean())
    ratio = mean_gain / best_gain if best_gain > 0 else float("nan")
    row: dict[str, Json] = {
        **where,
        "answer": cell,
        "n": len(gains),
        "gain of attention": round(mean_gain, 4),
        "best": best,
        "best gain": round(best_gain, 4),
        "share": round(ratio, 3) if np.isfinite(ratio) else None,
        "against": _against(evidence, inside, usable[0][0]) if len(operators) == 1 else None,
    }
    leaning: tuple[str, ...] = (
        ("little",) if best_gain < FOUND else ("much", "good") if ratio > GOOD else ("much", "bad")
    )
    if best_gain >= FOUND and POOR < ratio <= GOOD:
        leaning = ("much", "not_bad", "not_good")
    return Found(
        cell=cell,
        tests=tuple(parts[x] for x in needed),
        row=row,
        deciding=tuple(parts[x] for x in leaning),
        parts=parts,
        best_gain=best_gain,
        share=ratio,
    )


def _parts(
    evidence: Evidence, gains: Floats, top: Floats, clusters: Sequence[str], where: Mapping[str, Json]
) -> dict[str, Test]:
    """Elementary comparisons: is there an effect to find, does attention find any, and which share of the best."""
    of_best = Message.of("judge.points.gain", ranking=where["best"])
    any_gain = Message("judge.points.gain_attention")
    least = evidence.mean(top, clusters, bounds=(-1.0, 1.0))
    parts = {
        "little": Test(of_best, "below", FOUND, least, where),
        "much": Test(of_best, "above", FOUND, evidence.mean(top, clusters), where),
        "any": Test(any_gain, "above", 0.0, evidence.mean(gains, clusters), where),
    }
    for part, above, below in ((GOOD, "good", "not_good"), (POOR, "not_bad", "bad")):
        label = Message.of("judge.points.gain_beyond", share=part, ranking=where["best"])
        mean = evidence.mean(gains - part * top, clusters, bounds=share_bounds(top, part))
        parts[above] = Test(label, "above", 0.0, mean, where)
        parts[below] = Test(label, "below", 0.0, mean, where)
    return parts


def _against(evidence: Evidence, inside: Bools, operator: str) -> float | None:
    """Return the share of examples in which the prediction gets surer without the top word."""
    without = evidence.pointing[ATTENTION, operator].removed[:, 0][inside]
    finite = np.isfinite(without)
    return round(float((without > evidence.probability[inside] + 1e-6)[finite].mean()), 3) if finite.any() else None
