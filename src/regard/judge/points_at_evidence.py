"""Q2: does it point at the evidence? And Q5: is that the same for each predicted class?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from regard.judge.beyond_random import ORDER, Beyond, beyond_random
from regard.judge.claim import Draft
from regard.judge.evidence import Evidence
from regard.judge.gain_over_random import TOGETHER, Cell, Found, judged, others
from regard.judge.margins import FEWEST, FOUND, GOOD, LENIENT, LEVEL, POOR, SET_ASIDE
from regard.judge.mean_tests import Test, all_of
from regard.judge.mixture import two_populations
from regard.records import Answer, Bools, Json, Message, Text
from regard.registry import question

MARGINS = {"found": FOUND, "good": GOOD, "poor": POOR}
EVERY = "all"
FAILS: dict[Beyond, str] = {
    "not shown": "judge.points.fails_not_more",
    "little more": "judge.points.fails_little_more",
    "more": "judge.points.fails_more",
}


@dataclass(frozen=True, slots=True)
class OfClass:
    """Results for one predicted class: by every operator, and by their mean, the top unit first.

    rests: the tests behind the cell. top: the mean over operators for the first unit alone (else for all sizes).
    """

    name: str
    cell: Cell
    n: int
    few: bool
    found: tuple[Found, ...]
    rests: tuple[Test, ...] = ()
    top: Found | None = None

    @property
    def p(self) -> float:
        return all_of(self.rests) if self.rests else math.nan

    @property
    def rows(self) -> tuple[Mapping[str, Json], ...]:
        numbers = self.top.row if self.top is not None else {}
        whole: dict[str, Json] = {**numbers, "class": self.name, "operator": TOGETHER, "answer": self.cell, "n": self.n}
        return (whole, *(f.row for f in self.found))

    @property
    def tests(self) -> tuple[Test, ...]:
        together = () if self.top is None else self.top.tests
        return (*together, *(t for f in self.found for t in f.tests))

    def passes(self, part: str) -> bool:
        """Return whether there is something to find, and this comparison of attention with it passed."""
        return self.top is not None and not self.few and self.top.passes("much") and self.top.passes(part)

    def leans(self, part: str) -> bool:
        """Return whether a comparison passes at the lenient level that a class needs beside all classes together."""
        return self.top is not None and part in self.top.parts and self.top.parts[part].p < LENIENT

    @property
    def silent(self) -> bool:
        """Return whether no method seems to find anything here."""
        return self.cell == "none" or (self.top is not None and self.top.best_gain < FOUND)


@lru_cache(maxsize=4)
def by_class(evidence: Evidence) -> list[OfClass]:
    """Every predicted class, in the order of the model's labels."""
    return [of_class(evidence, [inside], name) for name, inside in _groups(evidence).items()]


def _groups(evidence: Evidence) -> dict[str, Bools]:
    names = sorted(set(evidence.classes), key=lambda c: (_place(evidence.labels, c), c))
    return {name: np.array([c == name for c in evidence.classes]) for name in names}


def _place(labels: Sequence[str], name: str) -> int:
    return labels.index(name) if name in labels else len(labels)


def of_class(evidence: Evidence, groups: Sequence[Bools], name: str) -> OfClass:
    """Judge one class, or several together: combine operators into one answer, then sizes."""
    n = int(np.any(groups, axis=0).sum())
    operators = [o for o in evidence.operators if others(evidence, o)]
    narrow, wide = (1,), evidence.sizes
    sizes = [*([narrow] if 1 in wide else []), *([wide] if len(wide) > 1 else [])]
    single = {size: [judged(evidence, groups, (o,), size, name) for o in operators] for size in sizes}
    findings = tuple(f for size in sizes for f in single[size])
    if not findings:
        return OfClass(name=name, cell="imprecise", n=n, few=n < FEWEST, found=findings)
    together = {size: judged(evidence, groups, operators, size, name) for size in sizes}
    top = together[sizes[0]]
    if n < FEWEST:
        return OfClass(name=name, cell="imprecise", n=n, few=True, found=findings, top=top)
    cells = [_together(together[size], single[size]) for size in sizes]
    near = top.share > (GOOD + POOR) / 2
    cell, rests = cells[0] if len(cells) == 1 else _sizes(*cells, near=near)
    return OfClass(name=name, cell=cell, n=n, few=False, found=findings, rests=rests, top=top)


def _together(mean: Found, single: Sequence[Found]) -> tuple[Cell, tuple[Test, ...]]:
    """The answer of the mean over operators, unless single operators contradict it, or one alone makes it."""
    holds, fails, between = ([f for f in single if f.cell == cell] for cell in ("holds", "fails", "mixed"))
    if holds and fails:
        surest = (min(some, key=lambda f: f.p) for some in (holds, fails))
        return "mixed", tuple(replace(t, times=len(single)) for f in surest for t in f.tests)
    if mean.cell == "none":
        return ("imprecise", ()) if holds or fails or between or len(single) < 2 else ("none", mean.tests)
    if mean.cell == "imprecise":
        return _found_by_one(single)
    alike = [f for f in single if f.best_gain >= FOUND and _same_side(mean.cell, f.share)]
    if len(alike) >= 2:
        return mean.cell, mean.tests
    return ("leans", mean.tests) if mean.cell == "holds" else ("imprecise", ())


def _found_by_one(single: Sequence[Found]) -> tuple[Cell, tuple[Test, ...]]:
    """No answer; or "nothing to be found" where every operator but one shows that, and that one claims nothing.

    An answer needs two operators that lean the same way, so the effect by one alone (that of an unnatural input, as a
    rule) could never give one. Any of the operators may be the one: Bonferroni.
    """
    silent = [f for f in single if f.cell == "none"]
    if len(silent) < 2 or len(silent) < len(single) - 1 or any(f.cell not in ("none", "imprecise") for f in single):
        return "imprecise", ()
    return "none", tuple(replace(t, times=len(single)) for f in silent for t in f.tests)


def _same_side(cell: Cell, share: float) -> bool:
    return share > GOOD if cell == "holds" else share < POOR if cell == "fails" else True


def _sizes(
    top: tuple[Cell, tuple[Test, ...]], more: tuple[Cell, tuple[Test, ...]], *, near: bool
) -> tuple[Cell, tuple[Test, ...]]:
    """Combine sizes: the top word decides; a few words decide where it is silent, or near what they show (redundant
    evidence).
    """
    if {top[0], more[0]} == {"holds", "fails"}:
        return "mixed", (*top[1], *more[1])
    if top[0] == "mixed" and more[0] == "holds" and near:
        return "leans", more[1]
    if top[0] in ("holds", "fails", "mixed"):
        return top
    if top[0] == "imprecise" and more[0] == "holds":
        return "leans", more[1]
    if top[0] == "leans" and more[0] in ("none", "imprecise", "leans"):
        return top
    return more


# ---------------------------------------------------------------------- the questions


@dataclass(frozen=True, slots=True)
class Ruling:
    """The answer with the rule that gave it, its sentence, and the tests that it rests on."""

    answer: Answer
    rule: str
    sentence: Message
    rests: tuple[Test, ...] = ()

    @property
    def p(self) -> float:
        return all_of(self.rests) if self.rests else math.nan


@question(rank=2, family="first")
def points(evidence: Evidence) -> Draft:
    """Does it point at the evidence?"""
    classes = by_class(evidence)
    rows = tuple(row for c in classes for row in c.rows)
    tests = tuple(t for c in classes for t in c.tests)
    ruling = _ruling(evidence, classes)
    blank = Draft(
        question="points",
        answer=ruling.answer,
        p=ruling.p,
        sentence=ruling.sentence,
        rule=ruling.rule,
        margins=MARGINS,
        tests=tests,
        rows=rows,
        rests=ruling.rests,
        share=min((t.mean.n for t in ruling.rests), default=len(evidence)) / max(1, len(evidence)),
        lost=_open(classes),
    )
    if ruling.answer != "uninformative":
        return blank
    deciding, share = _dearest(evidence, classes)
    return replace(blank, deciding=deciding, share=share)


def whole(evidence: Evidence) -> OfClass:
    """All examples, each compared with the best other ranking of its class."""
    return of_class(evidence, list(_groups(evidence).values()), EVERY)


def _ruling(evidence: Evidence, classes: Sequence[OfClass]) -> Ruling:
    """Every class must hold; or all together do and none lags. Partly: not all hold, and not all fail."""
    considered, aside = _heard(evidence, classes)
    if not considered:
        return Ruling("uninformative", "Q2.few", _open(classes))
    if len(considered) > 1 and len({c.name for c in considered}) == len(classes):
        everything = whole(evidence)
    else:
        everything = of_class(evidence, [_groups(evidence)[c.name] for c in considered], EVERY)
    return (
        _holding(considered, aside, everything)
        or _failing(evidence, considered, everything)
        or _between(considered, everything)
        or _some_inputs(evidence, considered)
        or _unsettled(considered)
    )


def _holding(considered: Sequence[OfClass], aside: Sequence[OfClass], everything: OfClass) -> Ruling | None:
    holding = [c for c in considered if c.cell == "holds"]
    if holding and all(c.cell in ("holds", "leans", "none") for c in considered):
        return Ruling("holds", "Q2.holds", _holds(considered, aside), tuple(t for c in holding for t in c.rests))
    alike = all(not c.few and (c.cell == "none" or c.leans("good")) for c in considered)
    if everything.cell == "holds" and alike and not any(c.cell in ("fails", "mixed") for c in considered):
        return Ruling("holds", "Q2.pooled", Message("judge.points.pooled"), everything.rests)
    return None


def _failing(evidence: Evidence, considered: Sequence[OfClass], everything: OfClass) -> Ruling | None:
    """Return whether one class fails, or all together do, and no class is better: it fails too, or leans to it, or has
    no evidence.
    """
    failing = [c for c in considered if c.cell == "fails"]
    rest = [c for c in considered if c.cell != "fails"]
    if any(c.cell in ("holds", "mixed") or c.passes("not_bad") for c in rest):
        return None
    if not all(c.silent or c.leans("bad") or (c.few and c.n <= SET_ASIDE * len(evidence)) for c in rest):
        return None
    if failing:
        surest = min(failing, key=lambda c: c.p)
        rests = tuple(replace(t, times=len(considered)) for t in surest.rests)
        return Ruling("fails", "Q2.fails", _fails(evidence, failing, considered), rests)
    if everything.cell == "fails":
        return Ruling("fails", "Q2.pooled", _fails(evidence, [everything], [everything]), everything.rests)
    return None


def _between(considered: Sequence[OfClass], everything: OfClass) -> Ruling | None:
    """Return whether the answer is "partly": some class is above the lower share, and some class below the higher one.

    Classes that differ, or lie between, are named first; where that is not sure enough, all together may be.
    """
    ways = (_differing(considered), _single_between(considered), _pooled_between(considered, everything))
    rulings = [ruling for ruling in ways if ruling is not None]
    return next((r for r in rulings if r.p < LEVEL), min(rulings, key=lambda r: r.p, default=None))


def _differing(considered: Sequence[OfClass]) -> Ruling | None:
    holding, failing = ([c for c in considered if c.cell == cell] for cell in ("holds", "fails"))
    better = holding or [c for c in considered if c.passes("not_bad")]
    if not failing or not better:
        return None
    key = "judge.points.classes_differ" if holding else "judge.points.classes_differ_in_part"
    sentence = Message.of(key, right=_names(better), wrong=_names(failing))
    surest = min(failing, key=lambda c: c.p)
    other = min((_of(c, "not_bad") if c.cell != "holds" else c.rests for c in better), key=all_of)
    return Ruling("mixed", "Q2.classes differ", sentence, _times((*surest.rests, *other), len(considered)))


def _single_between(considered: Sequence[OfClass]) -> Ruling | None:
    mixed = [c for c in considered if c.cell == "mixed"]
    if not mixed:
        return None
    sentence = Message.of("judge.points.mixed", of=_of_classes(mixed if len(considered) > 1 else ()))
    return Ruling("mixed", "Q2.between", sentence, _times(min(mixed, key=lambda c: c.p).rests, len(considered)))


def _pooled_between(considered: Sequence[OfClass], everything: OfClass) -> Ruling | None:
    sentence = Message.of("judge.points.mixed", of="")
    if everything.cell == "holds" or any(c.silent for c in considered):
        return None
    if everything.cell == "mixed":  # shown for all together, which needs no choice between classes
        return Ruling("mixed", "Q2.pooled", sentence, everything.rests)
    candidates = [*considered, everything]
    below, above = ([c for c in candidates if c.passes(part)] for part in ("not_good", "not_bad"))
    if not below or not above:
        return None
    less, more = (
        min(some, key=lambda c: all_of(_of(c, part))) for some, part in ((below, "not_good"), (above, "not_bad"))
    )
    if less is not everything and len(considered) > 1:  # below the bar for this class, not for all together
        sentence = Message.of("judge.points.mixed", of=_of_classes([less]))
    rests = (*_of(less, "not_good"), *_of(more, "not_bad"))
    ruling = Ruling("mixed", "Q2.pooled", sentence, _times(rests, len(candidates)))
    return ruling if ruling.p < LEVEL else None


def _some_inputs(evidence: Evidence, considered: Sequence[OfClass]) -> Ruling | None:
    """Return whether the answer is "partly" because the map is right on some inputs and wrong on others, for any
    mean.
    """
    tests = two_populations(evidence)
    if not tests or any(c.few for c in considered) or not all(t.passes for t in tests):
        return None
    return Ruling("mixed", "Q2.some inputs", Message("judge.points.some_inputs"), tests)


def _of(c: OfClass, part: str) -> tuple[Test, ...]:
    """Combine "there is something to find" with the comparison."""
    return () if c.top is None else (c.top.parts["much"], c.top.parts[part])


def _times(tests: Sequence[Test], times: int) -> tuple[Test, ...]:
    return tuple(replace(t, times=t.times * times) for t in tests)


def _unsettled(considered: Sequence[OfClass]) -> Ruling:
    if any(c.few for c in considered):
        return Ruling("uninformative", "Q2.few", _open(considered))
    if all(c.cell == "none" for c in considered):
        return Ruling("uninformative", "Q2.none", Message("judge.points.nothing"))
    rule = "Q2.imprecise" if any(c.cell == "holds" for c in considered) else "Q2.open"
    return Ruling("uninformative", rule, _open(considered))


def _heard(evidence: Evidence, classes: Sequence[OfClass]) -> tuple[list[OfClass], list[OfClass]]:
    """Return the classes to judge; with more than two, set classes with few predictions aside if they are few
    together.
    """
    few = [c for c in classes if c.few]
    if len(classes) > 2 and sum(c.n for c in few) <= SET_ASIDE * len(evidence) and len(few) < len(classes):
        return [c for c in classes if not c.few], few
    return list(classes), []


@question(rank=5, family="first")
def same(evidence: Evidence) -> Draft:
    """Is the answer the same for every class?"""
    classes = by_class(evidence)
    holding, failing = ([c for c in classes if c.cell == cell] for cell in ("holds", "fails"))
    answer: Answer
    if holding and failing:
        sentence = Message.of("judge.same.fails", right=_names(holding), wrong=_names(failing))
        answer, p = "fails", max(min(c.p for c in holding), min(c.p for c in failing))
    elif (holding and all(c.cell in ("holds", "leans") for c in classes)) or len(failing) == len(classes):
        # a class that leans counts as right, as it does for "does it point at the evidence"
        answer, p, sentence = "holds", max(c.p for c in classes), Message("judge.same.holds")
    elif any(c.cell in ("none", "leans", "imprecise") for c in classes):
        answer, p, sentence = "uninformative", math.nan, Message("judge.same.open")
    else:
        answer, p, sentence = "mixed", max(c.p for c in classes), Message("judge.same.mixed")
    rows: tuple[Mapping[str, Json], ...] = tuple({"class": c.name, "answer": c.cell, "n": c.n} for c in classes)
    surest = [min(some, key=lambda c: c.p) for some in (holding, failing) if some] if answer == "fails" else classes
    rests = () if answer == "uninformative" else tuple(t for c in surest for t in c.rests)
    deciding, share = _dearest(evidence, classes) if answer == "uninformative" else ((), 1.0)
    return Draft(
        question="same",
        answer=answer,
        p=p,
        sentence=sentence,
        rule=f"Q5.{answer}",
        tests=rests or deciding,
        rows=rows,
        rests=rests,
        deciding=deciding,
        share=share,
    )


def _dearest(evidence: Evidence, classes: Sequence[OfClass]) -> tuple[tuple[Test, ...], float]:
    """Return the open tests of the class that needs most examples, and its share of the examples."""
    wanting = [c for c in classes if c.cell in ("imprecise", "leans") and c.top is not None and c.top.deciding]
    costs = [(c.top.deciding, c.n / max(1, len(evidence))) for c in wanting if c.top is not None]
    return max(costs, key=lambda cost: max(t.decides_at() for t in cost[0]) / cost[1], default=((), 1.0))


# ---------------------------------------------------------------------- sentences


def _names(classes: Sequence[OfClass]) -> list[Json]:
    return [c.name for c in classes]


def _of_classes(classes: Sequence[OfClass]) -> Text:
    """The classes that a sentence is about, in brackets; "" for none."""
    return Message.of("judge.points.of_classes", classes=_names(classes)) if classes else ""


def _holds(heard: Sequence[OfClass], aside: Sequence[OfClass]) -> Message:
    """aside: the classes with too few predictions."""
    cells = {cell: [c for c in heard if c.cell == cell] for cell in ("holds", "none", "leans")}
    parts = (
        ("judge.points.holds", cells["holds"]),
        ("judge.points.by_default", cells["none"]),
        ("judge.points.leans", cells["leans"]),
        ("judge.points.aside", aside),
    )
    return Message.of("sentences", parts=[Message.of(key, classes=_names(some)) for key, some in parts if some])


def _fails(evidence: Evidence, failing: Sequence[OfClass], heard: Sequence[OfClass]) -> Message:
    """Word the failure by the largest loss beyond random words among the failing comparisons (see `beyond_random`)."""
    of = _of_classes(failing if len(failing) < len(heard) else ())
    beyond = max((_beyond(evidence, c) for c in failing), key=ORDER.index)
    return Message.of(FAILS[beyond], of=of, **({"poor": POOR} if beyond == "more" else {}))


def _beyond(evidence: Evidence, failing: OfClass) -> Beyond:
    inside = np.array([failing.name in (EVERY, name) for name in evidence.classes], np.bool_)
    rows = [f.row for f in failing.found if f.cell == "fails"]
    levels = [beyond_random(evidence, inside, str(r["operator"]), _sizes_of(r)) for r in rows]
    return max(levels, key=ORDER.index, default="not shown")


def _sizes_of(row: Mapping[str, Json]) -> list[int]:
    sizes = row["sizes"]
    return [int(str(k)) for k in sizes] if isinstance(sizes, list) else []


def _open(classes: Sequence[OfClass]) -> Message:
    few = [c for c in classes if c.few]
    if few:
        return Message.of("judge.points.few", fewest=FEWEST, counts=counts([(c.name, c.n) for c in few]))
    silent = [c for c in classes if c.cell in ("imprecise", "leans")]
    shares = [c.top.share for c in silent if c.top is not None and c.top.best_gain >= FOUND]
    numbers = [share for share in shares if math.isfinite(share)]
    if numbers and len(numbers) * 2 >= len(silent):
        share = max(0.0, float(np.median(numbers)))
        return Message.of("judge.points.open_share", share=share, good=GOOD, of=_of_classes(silent))
    return Message.of("judge.points.open", of=_of_classes(silent))


def counts(predictions: Iterable[tuple[str, int]]) -> list[Message]:
    """Each class with its number of predictions, in words."""
    return [Message.of("judge.points.count", name=name, n=n) for name, n in predictions]
