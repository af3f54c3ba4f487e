"""Trust per example, and maps that are right on some inputs and wrong on others."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from benchmarks.simulated_shares import ONE_POPULATION, simulated, two_populations
from hypothesis import given, settings
from hypothesis import strategies as st
from made_evidence import made
from planted_mixture import mixture as planted
from planted_mixture import mixture_texts

from regard.audits.shard import Settings, compute
from regard.judge.evidence import Curves, Evidence, evidence_of
from regard.judge.example_trust import example_trust
from regard.judge.judge import judge
from regard.judge.mixture import MOST, mixture
from regard.judge.points_at_evidence import points
from regard.judge.slice_columns import slice_columns
from regard.judge.trust_slices import trust_slices
from regard.records import Floats, Spec


def evidence_with(attention: Floats, best: Floats, chance: Floats | None = None) -> Evidence:
    """Two operators; (examples, sizes) drops of attention, of integrated gradients and of random words, p = .9."""
    n, sizes = attention.shape
    rankings = {
        "attention": attention,
        "integrated_gradients": best,
        "random:0": 0 * best if chance is None else chance,
    }
    pointing = {(name, o): Curves(0.9 - drop) for name, drop in rankings.items() for o in ("mask", "delete")}
    pointing["attention", "delete"] = Curves(pointing["attention", "delete"].removed + 1e-9)  # no two are the same
    names = tuple(f"e{i}" for i in range(n))
    return Evidence(
        ids=names,
        classes=("yes",) * n,
        clusters=names,
        probability=np.full(n, 0.9),
        neutral=np.full(n, 0.5),
        pointing=pointing,
        sizes=tuple(range(1, sizes + 1)),
    )


def test_share_is_the_part_of_the_best_effect_beyond_random_words() -> None:
    attention = np.array([[0.3], [0.15], [0.0], [0.0], [0.3]])
    best = np.array([[0.3], [0.3], [0.3], [0.04], [0.1]])
    trust = example_trust(evidence_with(attention, best))
    assert trust is not None
    np.testing.assert_allclose(trust.share, [1, 0.5, 0, np.nan, 1], atol=1e-6)
    assert trust.marks == ("right", "partly", "wrong", "undefined", "right")
    chance = np.full((5, 1), 0.1)
    again = example_trust(evidence_with(attention, best, chance))
    assert again is not None
    np.testing.assert_allclose(again.share, [1, 0.25, 0, np.nan, 1], atol=1e-6)
    np.testing.assert_allclose(again.marked, attention[:, 0], atol=1e-6)
    np.testing.assert_allclose(again.chance, 0.1, atol=1e-6)


def test_the_most_favourable_size_counts() -> None:
    trust = example_trust(evidence_with(np.array([[0.0, 0.3], [0.02, 0.0]]), np.array([[0.3, 0.3], [0.02, 0.3]])))
    assert trust is not None
    np.testing.assert_allclose(trust.share, [1, 1], atol=1e-6)


def test_an_effect_by_one_operator_alone_is_none() -> None:
    evidence = evidence_with(np.zeros((3, 1)), np.full((3, 1), 0.3))
    pointing = dict(evidence.pointing)
    pointing["integrated_gradients", "delete"] = Curves(np.full((3, 1), 0.9))
    trust = example_trust(replace(evidence, pointing=pointing))
    assert trust is not None
    assert np.isnan(trust.share).all()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.0, 0.2))
def test_shares_are_in_range_follow_their_examples_and_are_full_for_the_best(seed: int, noise: float) -> None:
    evidence = simulated(ONE_POPULATION["uniform"], 24, seed, noise=noise)
    trust = example_trust(evidence)
    assert trust is not None
    finite = trust.share[trust.defined]
    assert ((finite >= 0) & (finite <= 1)).all()
    order = np.random.default_rng(seed).permutation(24)
    moved = {k: Curves(c.removed[order], None, c.own) for k, c in evidence.pointing.items()}
    other = example_trust(replace(evidence, pointing=moved))
    assert other is not None
    np.testing.assert_array_equal(other.share, trust.share[order])


def test_one_population_is_not_called_two() -> None:
    """At most 5 % over populations with one peak; benchmarks/mixtures.py measures more of them."""
    answers = [
        mixture(simulated(draw, 100, seed, noise=noise)).answer  # type: ignore[union-attr]
        for draw in ONE_POPULATION.values()
        for noise in (0.01, 0.08)
        for seed in range(6)
    ]
    assert sum(answer in ("fails", "mixed") for answer in answers) <= 0.05 * len(answers)


def test_a_mixture_of_70_and_30_is_found_at_150_examples() -> None:
    drafts = [mixture(simulated(two_populations(0.3), 150, seed, noise=0.02, silent=0.0)) for seed in range(20)]
    found = [d for d in drafts if d is not None and d.rule == MOST and d.p < 0.05 / 8]
    assert len(found) >= 17


def test_clusters_are_what_is_counted() -> None:
    """Ten copies of every example are no more evidence than one."""
    once = mixture(simulated(two_populations(0.3), 30, 3, noise=0.01))
    copies = mixture(simulated(two_populations(0.3), 300, 3, noise=0.01, clusters=10))
    assert once is not None
    assert copies is not None
    assert once.tests[0].mean.error < 2 * copies.tests[0].mean.error


def test_the_mixture_turns_the_reading_and_names_both_kinds() -> None:
    known = made(n=80, noise=0.02)
    shares = simulated(two_populations(0.25), len(known), 0, noise=0.01, silent=0.0)
    kept = {key: Curves(c.removed, known.pointing[key].kept, c.own) for key, c in shares.pointing.items()}
    evidence = replace(known, pointing=kept, probability=shares.probability, neutral=shares.neutral)
    judgement = judge(evidence)
    assert judgement.reading == "for most inputs"
    verdict = next(v for v in judgement.verdicts if v.question == "mixture")
    assert (verdict.answer, verdict.rule) == ("fails", MOST)
    trust = example_trust(evidence)
    assert trust is not None
    marks = dict(zip(evidence.ids, trust.marks, strict=True))
    examples = [(str(row["example"]), row["here"]) for row in verdict.rows if "here" in row]
    assert [marks[name] for name, _ in examples] == [here for _, here in examples] == ["right"] * 3 + ["wrong"] * 3
    assert judgement.graded is not None
    assert "read as evidence" in judgement.graded.ruled_out
    assert judge(known).reading == "read as evidence"


def test_examples_that_were_not_measured_do_not_count() -> None:
    evidence = simulated(two_populations(0.3), 100, 2, noise=0.01)
    blank = {
        k: Curves(np.vstack([c.removed, np.full((60, 3), np.nan)]), None, c.own) for k, c in evidence.pointing.items()
    }
    names = tuple(f"e{i}" for i in range(160))
    longer = replace(
        evidence,
        ids=names,
        classes=("yes",) * 160,
        clusters=names,
        probability=np.full(160, 0.98),
        neutral=np.full(160, 0.5),
        pointing=blank,
    )
    whole, part = mixture(evidence), mixture(longer)
    assert whole is not None
    assert part is not None
    assert [t.mean for t in part.tests] == [t.mean for t in whole.tests]
    assert part.rows == whole.rows


def test_without_rankings_nothing_is_asked() -> None:
    assert mixture(replace(made(), pointing={})) is None


# ---------------------------------------------------------------------- slices


def with_columns(evidence: Evidence, **columns: list[str]) -> Evidence:
    return replace(evidence, columns={("column", name): tuple(values) for name, values in columns.items()})


def test_the_slice_that_holds_the_wrong_inputs_is_named_first() -> None:
    evidence = simulated(two_populations(0.3), 160, 1, noise=0.01)
    trust = example_trust(evidence)
    assert trust is not None
    rng = np.random.default_rng(0)
    way = ["bag" if wrong else "key" for wrong in trust.wrong]
    lot = [str(rng.integers(0, 4)) for _ in way]
    first, *others = trust_slices(with_columns(evidence, way=way, lot=lot), trust)
    assert (first.column, first.value, first.differs) == ("way", "bag", True)
    assert (first.inside, first.outside) == (1.0, 0.0)
    assert first.low > 0.7
    assert len(others) == 4
    assert not any(s.differs for s in others)


def test_slices_by_lot_are_rarely_named() -> None:
    named = 0
    for seed in range(40):
        evidence = simulated(two_populations(0.3), 80, seed, noise=0.01)
        trust = example_trust(evidence)
        assert trust is not None
        rng = np.random.default_rng(seed)
        columns = {f"c{i}": [str(v) for v in rng.integers(0, 3, 80)] for i in range(3)}
        named += any(s.differs for s in trust_slices(with_columns(evidence, **columns), trust))
    assert named <= 4


def test_columns_of_examples_halve_lengths_and_compare_labels() -> None:
    rows = [
        {"probability": 0.5 + i / 10, "predicted": "yes", "label": i % 2, "units": {"special": [False] * (i + 1)}}
        for i in range(4)
    ]
    columns = slice_columns(rows, ("no", "yes"))
    assert columns["length", ""] == ("short", "short", "long", "long")
    assert columns["confidence", ""] == ("unsure", "unsure", "sure", "sure")
    assert columns["label", ""] == ("error", "correct", "error", "correct")


# ---------------------------------------------------------------------- a planted mixture


@cache
def measured(share: float, seed: int) -> tuple[Evidence, tuple[bool, ...]]:
    examples = mixture_texts(100, share, seed)
    pointing = (Spec("experiment", "pointing"),)
    settings_ = Settings((Spec("explainer", "attention"),), (), experiments=pointing, companions=tuple(examples[:12]))
    page = compute(planted(), examples, settings_)
    slices = {e.id: dict(e.slices) for e in examples}
    rows = [{**row, "cluster": row["id"], "slices": slices[row["id"]]} for row in page.rows]
    (evidence,) = evidence_of(rows, page.findings, labels=("no", "yes"))
    return evidence, tuple(slices[name]["way"] == "bag" for name in evidence.ids)


@pytest.mark.parametrize("seed", [0, 1])
def test_marks_on_a_planted_mixture_are_precise_and_find_most(seed: int) -> None:
    evidence, bag = measured(0.3, seed)
    trust = example_trust(evidence)
    assert trust is not None
    wrong, truth = trust.wrong, np.array(bag)
    assert (wrong & truth).sum() / wrong.sum() >= 0.9
    assert (wrong & truth).sum() / truth.sum() >= 0.5
    draft = mixture(evidence)
    assert draft is not None
    assert draft.rule == MOST
    first = trust_slices(evidence, trust)[0]
    assert (first.column, first.value, first.differs) == ("way", "bag", True)


def test_the_same_model_without_the_bypass_is_right_everywhere() -> None:
    evidence, _ = measured(0.0, 0)
    draft = mixture(evidence)
    assert draft is not None
    assert (draft.answer, draft.rule) == ("holds", "Q13.nowhere wrong")
    assert not math.isnan(draft.p)


def test_two_kinds_of_inputs_settle_the_question_of_the_evidence_as_partly() -> None:
    """With 30 % wrong inputs the mean share lies at the threshold, where no number of examples settles it."""
    drafts = [points(simulated(two_populations(0.3), 200, seed)) for seed in range(6)]
    assert {draft.answer for draft in drafts} == {"mixed"}
    two_kinds = [draft for draft in drafts if draft.rule == "Q2.some inputs"]
    assert two_kinds
    assert all(test.passes for draft in two_kinds for test in draft.rests)


@pytest.mark.parametrize("name", ["skewed to right", "wide", "truncated"])
def test_one_population_settles_nothing_as_two_kinds(name: str) -> None:
    assert points(simulated(ONE_POPULATION[name], 200, 0)).rule != "Q2.some inputs"
