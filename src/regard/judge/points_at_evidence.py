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
from regard.judge.gain_over_random import Cell, Found, judged
from regard.judge.margins import FEWEST, FOUND, GOOD, POOR, SET_ASIDE
from regard.judge.mean_tests import Test
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
    """What is found about one predicted class."""

    name: str
    cell: Cell
    p: float
    n: int
    few: bool
    found: tuple[Found, ...]

    @property
    def rows(self) -> tuple[Mapping[str, Json], ...]:
        whole: dict[str, Json] = {"class": self.name, "operator": "together", "answer": self.cell, "n": self.n}
        return (whole, *(f.row for f in self.found))

    @property
    def rests(self) -> tuple[Test, ...]:
        """The tests behind the answer: of the sizes that gave it, by the operators that it takes together."""
        cells = ("holds", "fails", "mixed") if self.cell == "mixed" else (self.cell,)
        top = [f for f in self.found if f.row.get("sizes") == [1]]
        more = [f for f in self.found if f not in top]
        alone, wide = (_together(some)[0] for some in (top, more))
        findings = top if alone == self.cell else more if wide == self.cell else self.found
        return tuple(t for f in findings if f.cell in cells for t in f.tests)

    @property
    def tests(self) -> tuple[Test, ...]:
        return tuple(t for f in self.found for t in f.tests)


@lru_cache(maxsize=4)
def by_class(evidence: Evidence) -> list[OfClass]:
    """Every predicted class, in the order of the model's labels."""
    names = sorted(set(evidence.classes), key=lambda c: (_place(evidence.labels, c), c))
    return [of_class(evidence, np.array([c == name for c in evidence.classes]), name) for name in names]


def _place(labels: Sequence[str], name: str) -> int:
    return labels.index(name) if name in labels else len(labels)


def of_class(evidence: Evidence, inside: Bools, name: str) -> OfClass:
    """One class: operators make one answer, then sizes do."""
    n = int(inside.sum())
    operators = evidence.operators
    narrow = [judged(evidence, inside, o, (1,), name) for o in operators if 1 in evidence.sizes]
    wide = [judged(evidence, inside, o, evidence.sizes, name) for o in operators if len(evidence.sizes) > 1]
    findings = tuple(narrow + wide)
    if n < FEWEST or not findings:
        return OfClass(name=name, cell="imprecise", p=math.nan, n=n, few=n < FEWEST, found=findings)
    cell, p = _together(narrow)
    if wide:
        cell, p = _sizes((cell, p), _together(wide))
    return OfClass(name=name, cell=cell, p=p, n=n, few=False, found=findings)


def _together(found: Sequence[Found]) -> tuple[Cell, float]:
    """The operators' answers as one, and the largest p of those that it rests on."""
    count = {c: [f.p for f in found if f.cell == c] for c in ("holds", "fails", "mixed", "none")}
    holds, fails, mixed, none = (count[c] for c in ("holds", "fails", "mixed", "none"))
    if len(holds) >= 2 and not fails:
        return "holds", max(holds)
    if len(fails) >= 2 and not holds:
        return "fails", max(fails)
    if len(holds) + len(fails) + len(mixed) >= 2:
        return "mixed", max(holds + fails + mixed)
    if len(none) >= 2 and not fails and not mixed:
        return "none", max(none)
    if len(holds) == 1 and not fails and not mixed:
        return "leans", holds[0]
    return "imprecise", math.nan


def _sizes(top: tuple[Cell, float], more: tuple[Cell, float]) -> tuple[Cell, float]:
    """The top word decides; a few words speak where it is silent."""
    if {top[0], more[0]} == {"holds", "fails"}:
        return "mixed", max(top[1], more[1])
    if top[0] in ("holds", "fails", "mixed"):
        return top
    if top[0] == "imprecise" and more[0] == "holds":
        return "leans", more[1]
    if top[0] == "leans" and more[0] in ("none", "imprecise", "leans"):
        return top
    return more


# ---------------------------------------------------------------------- the questions


@question(rank=2, family="first")
def points(evidence: Evidence) -> Draft:
    """Does it point at the evidence?"""
    classes = by_class(evidence)
    rows = tuple(row for c in classes for row in c.rows)
    tests = tuple(t for c in classes for t in c.tests)
    answer, p, rule, sentence = _answer(evidence, classes)
    rests = tuple(t for c in _resting(evidence, classes, rule) for t in c.rests)
    lost = _open(classes)
    blank = Draft(
        question="points",
        answer=answer,
        p=p,
        sentence=sentence,
        rule=rule,
        margins=MARGINS,
        tests=tests,
        rows=rows,
        rests=rests,
        lost=lost,
    )
    if answer != "uninformative":
        return blank
    wanting = [(c, f) for c in classes if c.cell in ("imprecise", "leans") and not c.few for f in c.found]
    if not wanting:
        return blank
    # two operators must get there, so the second cheapest says how much it takes; the dearest class decides
    costs = []
    for c in {c.name: c for c, _ in wanting}.values():
        ways = sorted((f.deciding for f in c.found if f.deciding), key=_dearness)
        if ways:
            costs.append((ways[min(1, len(ways) - 1)], c.n / max(1, len(evidence))))
    deciding, share = max(costs, key=lambda cost: _dearness(cost[0]) / cost[1], default=((), 1.0))
    return replace(blank, deciding=deciding, share=share)


def _resting(evidence: Evidence, classes: Sequence[OfClass], rule: str) -> Sequence[OfClass]:
    """The classes that the answer of this rule rests on: every one that must hold, or the surest one."""
    if rule == "Q2.pooled":
        return [_whole(evidence)]
    considered, _ = _heard(evidence, classes)
    of = {
        cell: sorted((c for c in considered if c.cell == cell), key=lambda c: c.p)
        for cell in ("holds", "fails", "mixed")
    }
    return {
        "Q2.holds": of["holds"],
        "Q2.fails": of["fails"][:1],
        "Q2.between": of["mixed"][:1],
        "Q2.classes differ": [*of["holds"][:1], *of["fails"][:1]],
    }.get(rule, [])


def _whole(evidence: Evidence) -> OfClass:
    return of_class(evidence, np.ones(len(evidence), np.bool_), EVERY)


def _dearness(tests: Sequence[Test]) -> float:
    return max(t.mean.decides_at(t.margin, 1) for t in tests)


def _answer(evidence: Evidence, classes: Sequence[OfClass]) -> tuple[Answer, float, str, Message]:
    considered, aside = _heard(evidence, classes)
    holding, failing, mixed = ([c for c in considered if c.cell == cell] for cell in ("holds", "fails", "mixed"))
    if holding and all(c.cell in ("holds", "leans", "none") for c in considered):
        return "holds", max(c.p for c in holding), "Q2.holds", _holds(considered, aside)
    if failing and not holding and not mixed:
        return (
            "fails",
            min(1.0, len(considered) * min(c.p for c in failing)),
            "Q2.fails",
            _fails(evidence, failing, considered),
        )
    if holding and any(c.cell == "imprecise" for c in considered):
        return "uninformative", math.nan, "Q2.imprecise", _open(considered)
    if holding and failing:
        sentence = Message.of("judge.points.classes_differ", right=_names(holding), wrong=_names(failing))
        return "mixed", max(min(c.p for c in holding), min(c.p for c in failing)), "Q2.classes differ", sentence
    if mixed or (holding and failing):
        sentence = Message.of("judge.points.mixed", of=_of_classes(mixed if len(considered) > 1 else ()))
        return "mixed", min(1.0, len(considered) * min(c.p for c in mixed)), "Q2.between", sentence
    return _pooled(evidence, considered)


def _pooled(evidence: Evidence, heard: Sequence[OfClass]) -> tuple[Answer, float, str, Message]:
    """No class by itself says anything: all examples together, if every class has enough of them."""
    if any(c.few for c in heard) or not heard:
        return "uninformative", math.nan, "Q2.few", _open(heard)
    whole = _whole(evidence)
    if whole.cell in ("holds", "fails", "mixed"):
        sentence = {
            "holds": Message("judge.points.pooled"),
            "fails": _fails(evidence, [whole], [whole]),
            "mixed": Message.of("judge.points.mixed", of=""),
        }[whole.cell]
        return whole.cell, whole.p, "Q2.pooled", sentence
    if all(c.cell == "none" for c in heard):
        return "uninformative", math.nan, "Q2.none", Message("judge.points.nothing")
    return "uninformative", math.nan, "Q2.open", _open(heard)


def _heard(evidence: Evidence, classes: Sequence[OfClass]) -> tuple[list[OfClass], list[OfClass]]:
    """With more than two classes, those with few predictions are set aside if they are few together."""
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
    elif len(holding) == len(classes) or len(failing) == len(classes):
        answer, p, sentence = "holds", max(c.p for c in classes), Message("judge.same.holds")
    elif any(c.cell in ("none", "leans", "imprecise") for c in classes):
        answer, p, sentence = "uninformative", math.nan, Message("judge.same.open")
    else:
        answer, p, sentence = "mixed", max(c.p for c in classes), Message("judge.same.mixed")
    rows: tuple[Mapping[str, Json], ...] = tuple({"class": c.name, "answer": c.cell, "n": c.n} for c in classes)
    surest = [min(some, key=lambda c: c.p) for some in (holding, failing) if some] if answer == "fails" else classes
    rests = () if answer == "uninformative" else tuple(t for c in surest for t in c.rests)
    return Draft("same", answer, p, sentence, f"Q5.{answer}", tests=rests, rows=rows, rests=rests)


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
    """Worded by the largest loss beyond random words of all comparisons that fail (see `beyond_random`)."""
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
    shares = [f.row["share"] for c in silent for f in c.found if f.row.get("best gain", 0) >= FOUND]  # type: ignore[operator]
    numbers = [float(share) for share in shares if isinstance(share, int | float)]
    if numbers and len(numbers) * 2 >= sum(len(c.found) for c in silent):
        share = max(0.0, float(np.median(numbers)))
        return Message.of("judge.points.open_share", share=share, good=GOOD, of=_of_classes(silent))
    return Message.of("judge.points.open", of=_of_classes(silent))


def counts(predictions: Iterable[tuple[str, int]]) -> list[Message]:
    """Each class with its number of predictions, in words."""
    return [Message.of("judge.points.count", name=name, n=n) for name, n in predictions]
