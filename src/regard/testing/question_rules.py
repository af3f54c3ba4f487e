"""Rules for questions of the judge: a stated rule, and the same sound answer whatever the order of the examples."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_args

import numpy as np

from regard.judge.claim import Draft
from regard.judge.evidence import Evidence, single_quantities
from regard.judge.margins import LEVEL
from regard.measures.keyed_random import keyed_rng
from regard.records import Answer
from regard.registry import describe
from regard.testing.explainer_rules import failure

Question = Callable[[Evidence], Draft | None]
LEVELS = (0.02, 0.5, 0.98)
"""Means of the made-up quantities: low, middle and high."""
MANY, FEW = 120, 1


def question_problems(function: Question) -> Iterator[str]:
    """Yield the rules that a question of the judge breaks."""
    facts = describe(function).facts
    for name in ("rule", "not_claimed"):
        if not facts[name]:
            yield f"it does not state its {name}"
    if not facts["margins"]:
        yield "it names no margin, so nobody can tell what was fixed in advance"
    try:
        for level in LEVELS:
            yield from _sound(function, level)
        yield from _cautious(function)
    except Exception as error:
        yield failure(error, "the evidence holds")


def made_up_evidence(level: float, n: int = MANY, *, backwards: bool = False, empty: bool = False) -> Evidence:
    """Evidence with every quantity near `level`; backwards: the same examples in another order."""
    order = np.arange(n)[::-1] if backwards else np.arange(n)
    values: Mapping[str, Any] = {
        name: np.clip(level + 0.02 * keyed_rng(0, name).standard_normal(n), 0, 1)[order]
        for name in ([] if empty else sorted({*single_quantities(), "largest_weight"}))
    }
    names = tuple(f"e{i}" for i in order)
    return Evidence(
        ids=names,
        classes=tuple("ab"[i % 2] for i in order),
        clusters=names,
        probability=np.full(n, 0.9),
        neutral=np.full(n, 0.5),
        single=values,
        attention="made up",
        labels=("a", "b"),
    )


def _sound(function: Question, level: float) -> Iterator[str]:
    draft, turned = function(made_up_evidence(level)), function(made_up_evidence(level, backwards=True))
    if draft is None or turned is None:
        return
    if draft.answer not in get_args(Answer):
        yield f"its answer is {draft.answer!r}, expected one of {', '.join(get_args(Answer))}"
    if draft.answer != "uninformative" and not 0 <= draft.p <= 1:
        yield f"it claims {draft.answer!r} with p = {draft.p}; a claim needs the p of its tests"
    if draft.answer != "uninformative" and not draft.rests:
        yield "a claim names the tests that it rests on (rests=...)"
    same_p = math.isclose(draft.p, turned.p, abs_tol=1e-9) or (math.isnan(draft.p) and math.isnan(turned.p))
    if draft.answer != turned.answer or not same_p:
        yield "the order of the examples changes its answer"


def _cautious(function: Question) -> Iterator[str]:
    for evidence, what in ((made_up_evidence(0.5, FEW), "one example"), (made_up_evidence(0.5, empty=True), "no data")):
        draft = function(evidence)
        if draft is not None and draft.answer != "uninformative" and draft.p < LEVEL:
            yield f"it claims {draft.answer!r} from {what}"
