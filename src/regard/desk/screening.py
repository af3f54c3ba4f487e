"""Leave-one-out of long inputs, coarse to fine: sentences, then the units of those that matter, then a random sample.

An input with at most `most` free units is asked in full. Of a longer one a quarter of the passes removes whole groups
of neighboring units (sentences where there are some), half asks single units: first those that other rankings put
first, then the units of the groups with the largest effects. The last quarter asks units that are drawn from the rest
at random, so that the effect that is missed has a bound: with 95 % confidence at most `missed` of the units that were
not asked have a larger effect than the largest of the sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.measures.ranking import order
from regard.protocols import Case
from regard.records import Bools, Floats, Ints, Units

SENTENCE_ENDS = (".", "!", "?", "。", "！", "？", "…")
CONFIDENCE = 0.95
FEWEST = 8
"""Passes below which an input cannot be screened."""


@dataclass(frozen=True, slots=True)
class Screened:
    """values: (units,) per example, f(x) - f(x without the unit), the median of the random sample where `asked` is
    false. largest: (examples,) the largest effect in the sample; missed: the share of the units not asked that may
    have a larger one, at 95 % confidence. NaN and 0 where every unit was asked."""

    values: tuple[Floats, ...]
    asked: tuple[Bools, ...]
    largest: Floats
    missed: Floats


def screened(case: Case, operator: str | None, most: int | None, hints: Sequence[Sequence[Floats]] = ()) -> Screened:
    """Ask single removals, at most `most` passes per example; None: every free unit.

    hints: rankings of the free units, (free unit,) scores per example, whose first units are asked before others.
    """
    base = case.base()
    free = [np.flatnonzero(units.free) for units in case.units]
    long = [most is not None and len(places) > max(most, FEWEST) for places in free]
    groups = [
        _groups(u, f, max(2, _quarter(most))) if s else [] for u, f, s in zip(case.units, free, long, strict=True)
    ]
    coarse = case.removed([_drops(g, len(u)) for g, u in zip(groups, case.units, strict=True)], operator)
    samples: list[Ints] = []
    singles: list[Ints] = []
    for i, places in enumerate(free):
        if not long[i]:
            singles.append(places)
            samples.append(places[:0])
            continue
        effects = base.value[i] - coarse.value[coarse.rows(i)]
        budget = max(most or 0, FEWEST) - len(groups[i]) - _quarter(most)
        ranked = [places[order(rows[i])] for rows in hints]
        rng = case.rng(i, "screening", operator)
        fine = _fine([rng.permutation(group) for group in groups[i]], effects, ranked, budget)
        rest = np.setdiff1d(places, fine)
        sample = np.sort(rng.permutation(rest)[: _quarter(most)])
        singles.append(np.sort(np.concatenate([fine, sample])))
        samples.append(sample)
    answers = case.removed(
        [_drops([[p] for p in s], len(u)) for s, u in zip(singles, case.units, strict=True)], operator
    )
    values, masks = [], []
    largest, missed = np.full(len(free), np.nan), np.zeros(len(free))
    for i, (places, sample) in enumerate(zip(singles, samples, strict=True)):
        row, mask = np.zeros(len(case.units[i])), np.zeros(len(case.units[i]), np.bool_)
        row[places], mask[places] = base.value[i] - answers.value[answers.rows(i)], True
        if len(sample):
            row[np.setdiff1d(free[i], places)] = np.median(row[sample])
            largest[i], missed[i] = row[sample].max(), 1 - (1 - CONFIDENCE) ** (1 / len(sample))
        values.append(row)
        masks.append(mask)
    return Screened(tuple(values), tuple(masks), largest, missed)


def _quarter(most: int | None) -> int:
    return max(most or 0, FEWEST) // 4


def _drops(groups: Sequence[Sequence[int] | Ints], size: int) -> Bools:
    drops = np.zeros((len(groups), size), np.bool_)
    for row, group in zip(drops, groups, strict=True):
        row[np.asarray(group, np.int64)] = True
    return drops


def _groups(units: Units, free: Ints, count: int) -> list[Ints]:
    """At most `count` groups of neighboring free units: sentences, joined or halved to as even a size as they allow."""
    ends = [units.names[p].endswith(SENTENCE_ENDS) for p in free]
    sizes = len(free) / count
    groups: list[Ints] = []
    start = 0
    for i in range(len(free)):
        last = i + 1 == len(free)
        long_enough = i + 1 - start >= sizes
        divided = not last and units.part[free[i]] != units.part[free[i + 1]]
        room = len(groups) < count - 1
        if last or (room and (divided or (ends[i] and 2 * (i + 1 - start) >= sizes) or long_enough)):
            groups.append(free[start : i + 1])
            start = i + 1
    return groups


def _fine(groups: Sequence[Ints], effects: Floats, ranked: Sequence[Ints], budget: int) -> Ints:
    """The units to ask one by one: the first ones of every ranking in turn, then those of the groups by effect."""
    places: dict[int, None] = {}
    for place in (int(row[k]) for k in range(2) for row in ranked if k < len(row)):
        places[place] = None
    for group in order(effects):
        for place in groups[int(group)]:
            places[int(place)] = None
    return np.sort(np.array([*places][: max(1, budget)], np.int64))
