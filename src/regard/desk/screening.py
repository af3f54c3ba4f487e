"""Leave-one-out of long inputs, coarse to fine: sentences, then the units of those that matter, then a random sample.

An input with at most `most` free units gets every single removal. For a longer one, a quarter of the passes removes
whole groups of neighboring units (sentences, or blocks of a picture), and half removes single units: first those that
other rankings put first, then the units of the groups with the largest effects. A group with more units than passes
left is divided first, and its part with the largest effect again, until its units can be removed one by one. The last
quarter removes units drawn from the rest at random, which bounds the missed effect: with 95 % confidence, at most
`missed` of the units not removed have a larger effect than the largest of the sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from regard.measures.ranking import order
from regard.protocols import Case
from regard.records import Bools, Floats, Ints, Units

SENTENCE_ENDS = (".", "!", "?", "。", "！", "？", "…")
CONFIDENCE = 0.95
FEWEST = 8
"""Minimum passes to screen an input."""
PARTS = 4
"""Number of parts of a group that has more units than passes are left."""


@dataclass(frozen=True, slots=True)
class Screened:
    """Screened leave-one-out.

    values: (units,) per example, f(x) - f(x without the unit), the median of the random sample if `asked` is false.
    largest: (examples,) the largest effect in the sample; missed: the share of the units not removed that may have a
    larger one, at 95 % confidence. NaN and 0 if every unit was removed.
    """

    values: tuple[Floats, ...]
    asked: tuple[Bools, ...]
    largest: Floats
    missed: Floats


def screened(case: Case, operator: str | None, most: int | None, hints: Sequence[Sequence[Floats]] = ()) -> Screened:
    """Measure single removals, at most `most` passes per example; None: every free unit.

    hints: rankings of the free units, (free unit,) scores per example, whose first units are removed before others.
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
    searches = [
        _Search(
            units=case.units[i],
            groups=group_list,
            effects=[*(base.value[i] - coarse.value[coarse.rows(i)])],
            ranked=[free[i][order(rows[i])] for rows in hints] if group_list else [],
            budget=max(most or 0, FEWEST) - len(group_list) - _quarter(most),
        )
        for i, group_list in enumerate(groups)
    ]
    _divide(case, searches, operator)
    for i, (places, search) in enumerate(zip(free, searches, strict=True)):
        if not long[i]:
            singles.append(places)
            samples.append(places[:0])
            continue
        rng = case.rng(i, "screening", operator)
        fine = search.fine(rng)
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
    """Form at most `count` groups of neighboring free units.

    Sentences, joined or halved to similar sizes; blocks of a picture.
    """
    if units.place_kind == "box":
        return _divided(units, free, count)
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


def _divided(units: Units, group: Ints, count: int) -> list[Ints]:
    """Divide the group into `count` parts of similar size: runs of neighbors, or blocks along their longer side."""
    if units.place_kind != "box":
        return list(np.array_split(group, count))
    if count < 2 or len(group) < 2:
        return [group]
    places = units.places[group]
    centers = np.stack([places[:, 0] + places[:, 2], places[:, 1] + places[:, 3]])
    side = int(np.argmax(np.ptp(centers, axis=1)))
    ranked = group[np.argsort(centers[side], kind="stable")]
    half = count // 2
    cut = len(ranked) * half // count
    return [*_divided(units, np.sort(ranked[:cut]), half), *_divided(units, np.sort(ranked[cut:]), count - half)]


@dataclass(slots=True)
class _Search:
    """Search in one input.

    groups and effects: the groups removed so far; budget: passes left for parts of groups and for single units; ranked:
    units in the order of the hints; of each hint the first two are removed, or only the first if a group has more units
    than passes are left.
    """

    units: Units
    groups: list[Ints]
    effects: list[float]
    ranked: list[Ints]
    budget: int
    hinted: list[int] = field(init=False)

    def __post_init__(self) -> None:
        depth = 2 if max(map(len, self.groups), default=0) <= self.budget else 1
        self.hinted = [*dict.fromkeys(int(row[k]) for k in range(depth) for row in self.ranked if k < len(row))]

    @property
    def largest(self) -> int:
        return int(order(np.array(self.effects))[0])

    def parts(self) -> list[Ints]:
        """Parts of the group with the largest effect; none if its units can be removed one by one."""
        if not self.groups:
            return []
        group, left = self.groups[self.largest], self.budget - len(self.hinted)
        count = min(PARTS, left // 2)
        return _divided(self.units, group, count) if len(group) > self.budget and count > 1 else []

    def divide(self, parts: list[Ints], effects: Floats) -> None:
        """Replace the group with the largest effect by its parts."""
        place = self.largest
        self.groups[place : place + 1], self.effects[place : place + 1] = parts, [*effects]
        self.budget -= len(parts)

    def fine(self, rng: np.random.Generator) -> Ints:
        """Units to remove one by one: the first ones of every ranking in turn, then those of the groups by effect."""
        drawn_groups = [rng.permutation(group) for group in self.groups]
        places = dict.fromkeys(self.hinted)
        for group in order(np.array(self.effects)):
            places.update(dict.fromkeys(int(place) for place in drawn_groups[int(group)]))
        return np.sort(np.array([*places][: max(1, self.budget)], np.int64))


def _divide(case: Case, searches: Sequence[_Search], operator: str | None) -> None:
    """Remove the parts of large groups, for all inputs together, until every search can remove single units."""
    base = case.base()
    while any(parts := [search.parts() for search in searches]):
        answers = case.removed([_drops(p, len(u)) for p, u in zip(parts, case.units, strict=True)], operator)
        for i, search in enumerate(searches):
            if parts[i]:
                search.divide(parts[i], base.value[i] - answers.value[answers.rows(i)])
