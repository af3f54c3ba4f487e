"""Claims that early looks cannot make, classes that one operator alone speaks about, and classes that lean."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made_evidence import OPERATORS, made

from regard.judge.evidence import Curves, Evidence
from regard.judge.mean_tests import Mean
from regard.judge.points_at_evidence import by_class, points, same
from regard.measures.alpha_spending import fractions_now

LOOKS = (16, 32, 64, 100, 160, 200)


def mean_of(values: list[float], **about: object) -> Mean:
    names = [str(i) for i in range(len(values))]
    n = len(values)
    looks = tuple(k for k in LOOKS if k <= n)
    return Mean.of(np.array(values), names, fractions=fractions_now(LOOKS, n), looks=looks, **about)  # type: ignore[arg-type]


def test_claim_below_a_small_margin_pays_for_its_last_look_only() -> None:
    """0.98 ** 160 = .039 claims nothing at .8 of the examples, so the last look has the whole level."""
    mean = mean_of([0.0] * 200, bounds=(0.0, 1.0))
    assert mean.fractions_of("below", 0.02) == (1.0,)
    assert mean.p("below", 0.02) == pytest.approx(0.98**200, rel=0.06)
    assert mean.fractions_of("below", 0.1) == tuple(n / 200 for n in LOOKS[2:]), "0.9 ** 32 claims nothing yet"
    assert mean.fractions_of("above", 0.05) == mean.fractions


def test_unknown_bounds_and_looks_leave_every_look_its_part() -> None:
    assert mean_of([0.0] * 200).fractions_of("below", 0.02) == fractions_now(LOOKS, 200)
    mean = replace(mean_of([0.0] * 200, bounds=(0.0, 1.0)), looks=())
    assert mean.fractions_of("below", 0.02) == fractions_now(LOOKS, 200)


def test_interval_that_decides_uses_the_same_looks() -> None:
    mean = mean_of([0.004] * 200, bounds=(0.0, 1.0))
    every = replace(mean, looks=())
    assert every.p("below", 0.02) > mean.p("below", 0.02) == mean._p_now("below", 0.02)


def found_by_delete_alone(share: float) -> Evidence:
    """Negative: masking and resampling find nothing, deleting finds much, and attention this part of it."""
    evidence = made(n=100, how={"negative": "default", "positive": "random"})
    pointing, negative = dict(evidence.pointing), np.array([c == "negative" for c in evidence.classes])[:, None]
    rng = np.random.default_rng(5)
    for ranking in ("integrated_gradients", "gradient", "attention"):
        curves = pointing[ranking, "delete"]
        finds = (rng.random((len(evidence), 1)) < (share if ranking == "attention" else 1.0)) * 0.2
        pointing[ranking, "delete"] = replace(curves, removed=curves.removed - np.where(negative, finds, 0.0))
    return replace(evidence, pointing=pointing)


def test_effect_by_one_operator_alone_keeps_no_answer_back() -> None:
    evidence = found_by_delete_alone(share=0.3)
    negative, positive = by_class(evidence)
    assert (negative.cell, positive.cell) == ("none", "fails")
    assert {t.times for t in negative.rests} == {len(OPERATORS)}
    assert points(evidence).answer == "fails"


def test_class_that_leans_counts_as_right_in_both_questions() -> None:
    """Negative: two operators find too little; deleting finds .2, all of it by attention."""
    evidence = made(n=100)
    pointing = dict(evidence.pointing)
    negative = np.array([c == "negative" for c in evidence.classes])[:, None]
    for (ranking, operator), curves in evidence.pointing.items():
        lost = 0.0 if ranking.startswith("random") else 0.25 if operator == "delete" else 0.02
        removed = np.where(negative, 0.95 - lost + 1e-3 * OPERATORS.index(operator), curves.removed)
        kept = None if curves.kept is None else np.where(negative, 0.95, curves.kept)
        pointing[ranking, operator] = Curves(removed, kept, curves.own)
    leaning = replace(evidence, pointing=pointing)
    assert [c.cell for c in by_class(leaning)] == ["leans", "holds"]
    assert points(leaning).answer == same(leaning).answer == "holds"
