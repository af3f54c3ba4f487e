"""The judge on evidence with known answers: every reading, every boundary, and what must not change anything."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_evidence import OPERATORS, How, made, with_attention

from regard.judge.claim import Draft, settled
from regard.judge.evidence import Curves, Evidence, evidence_of, neutral_levels
from regard.judge.further_margins import PRINTED_BESIDE
from regard.judge.gain_over_random import gain, others
from regard.judge.judge import judge
from regard.judge.margins import FEWEST, PRINTED
from regard.judge.mean_tests import Mean
from regard.judge.points_at_evidence import by_class
from regard.records import Contrast, Judgement, Message, Score, Verdict, encoded
from regard.store.judgements import judgement_from_json, judgement_to_json

MATTER, POINTS, AGREE, EXCLUSIVE, SAME = 1, 2, 3, 4, 5


def answers(judgement: Judgement) -> list[str]:
    return [v.answer for v in judgement.verdicts]


def parts(verdict: Verdict) -> list[Any]:
    """The sentences of a verdict that has several."""
    return encoded(verdict.sentence)["params"]["parts"]  # type: ignore[no-any-return]


def by_default(classes: list[str]) -> Any:
    return encoded(Message.of("judge.points.by_default", classes=classes))


@pytest.mark.parametrize(
    ("how", "reading", "points", "same"),
    [
        ({"negative": "evidence", "positive": "evidence"}, "read as evidence", "holds", "holds"),
        ({"negative": "random", "positive": "random"}, "do not read", "fails", "holds"),
        ({"negative": "half", "positive": "half"}, "debugging only", "mixed", "mixed"),
        ({"negative": "random", "positive": "evidence"}, "debugging only", "mixed", "fails"),
        ({"negative": "default", "positive": "evidence"}, "read as evidence", "holds", "uninformative"),
        ({"negative": "default", "positive": "random"}, "do not read", "fails", "uninformative"),
        ({"negative": "default", "positive": "default"}, "undecided", "uninformative", "uninformative"),
        ({"a": "evidence", "b": "evidence", "c": "random", "d": "evidence"}, "debugging only", "mixed", "fails"),
        ({"a": "evidence", "b": "evidence", "c": "evidence"}, "read as evidence", "holds", "holds"),
    ],
)
def test_what_attention_points_at_decides_the_reading(
    how: dict[str, How], reading: str, points: str, same: str
) -> None:
    found = judge(made(n=100, how=how))
    assert (found.reading, found.verdicts[POINTS].answer, found.verdicts[SAME].answer) == (reading, points, same)


def test_the_reading_names_the_classes_that_it_holds_for() -> None:
    found = judge(made(n=100, how={"negative": "default", "positive": "evidence"}))
    assert found.classes == ("positive",)
    assert "positive" in str(found.sentence)
    assert by_default(["negative"]) in parts(found.verdicts[POINTS])


@pytest.mark.parametrize(
    ("evidence", "rule"),
    [
        (made(flat=0.0, noise=0.01), "P.flat"),
        (made(locked=0.0, noise=0.01), "P.locked"),
        (made(keys=2), "P.keys"),
        (made(n=120, change=0.0, flips=0.0, noise=0.005), "Q1.weights"),
        (made(change=0.08, route=0.0, noise=0.01), "Q1.route"),
        (replace(made(), defects=(("uniform", "x is uniform"),)), "P.uniform"),
        (replace(made(), defects=(("unused", "x is unused"),)), "Q1.unused"),
    ],
)
def test_nothing_to_read_silences_the_rest_and_shows_its_numbers(evidence: Evidence, rule: str) -> None:
    found = judge(evidence)
    assert found.reading == "nothing to read"
    asked = 1 if rule.startswith("P") else 2
    assert found.verdicts[asked - 1].answer == "fails"
    assert found.verdicts[asked - 1].rule == rule
    assert set(answers(found)[asked:]) == {"uninformative"}
    assert found.verdicts[POINTS].contrasts
    assert found.verdicts[POINTS].rows


def test_agreement_and_exclusivity_never_decide() -> None:
    for agreement in (0.0, 0.6):
        for displaceable in (0.0, 1.0):
            found = judge(made(agreement=agreement, displaceable=displaceable))
            assert found.reading == "read as evidence"
            assert found.verdicts[AGREE].answer == ("fails" if agreement == 0 else "holds")
            assert found.verdicts[EXCLUSIVE].answer == ("fails" if displaceable else "holds")


def test_without_a_ceiling_agreement_means_nothing() -> None:
    assert judge(made(agreement=0.5, ceiling=0.0)).verdicts[AGREE].answer == "uninformative"


def test_where_only_a_search_is_possible_it_cannot_be_called_exclusive() -> None:
    evidence = made(displaceable=0.0)
    searched = replace(evidence, single={**evidence.single, "linear": np.zeros(len(evidence))})
    assert judge(searched).verdicts[EXCLUSIVE].answer == "uninformative"


@pytest.mark.parametrize("change", [0.035, 0.03])
def test_between_the_margins_it_matters_in_part(change: float) -> None:
    found = judge(made(n=150, change=change, flips=0.1, noise=0.01))
    assert found.verdicts[MATTER].answer == "mixed"
    assert found.reading == "debugging only"


def test_without_a_route_it_matters_in_part_at_best() -> None:
    evidence = made()
    single = {k: v for k, v in evidence.single.items() if k != "route"}
    found = judge(replace(evidence, single=single))
    assert found.verdicts[MATTER].answer == "mixed"
    assert found.reading == "debugging only"


# ---------------------------------------------------------------------- few examples


def test_below_the_fewest_predictions_of_a_class_it_refuses_in_words() -> None:
    found = judge(made(n=FEWEST - 1))
    assert found.reading == "undecided"
    assert f"fewer than {FEWEST} predictions" in str(found.sentence)
    assert f"negative has {FEWEST - 1}" in str(found.sentence)
    assert judge(made(n=FEWEST)).verdicts[POINTS].rule != "Q2.few"
    assert judge(made(n=2 * FEWEST)).reading == "read as evidence"


def test_one_class_with_few_predictions_is_imprecise_never_a_default() -> None:
    whole = made(how={"negative": "default", "positive": "evidence"})
    kept = np.array([c == "positive" for c in whole.classes]) | (np.arange(len(whole)) < 12)
    found = judge(part(whole, kept))
    assert found.verdicts[POINTS].answer == "uninformative"
    assert found.reading == "undecided"


def test_of_many_classes_a_rare_one_is_named_and_set_aside() -> None:
    whole = made(n=60, how={"a": "evidence", "b": "evidence", "c": "random"})
    rare = np.array([c != "c" for c in whole.classes]) | (np.cumsum([c == "c" for c in whole.classes]) <= 10)
    found = judge(part(whole, rare))
    assert found.reading == "read as evidence"
    assert found.classes == ("a", "b")
    assert encoded(Message.of("judge.points.aside", classes=["c"])) in parts(found.verdicts[POINTS])


def test_undecided_says_how_many_would_decide_and_that_many_do() -> None:
    few = judge(made(n=32, how={"negative": "half", "positive": "half"}, noise=0.35))
    assert few.reading == "undecided"
    assert few.decides_between is not None
    low, high = few.decides_between
    assert high is not None
    assert 64 < low <= high < 1000
    many = judge(made(n=high // 2, how={"negative": "half", "positive": "half"}, noise=0.35))
    assert many.reading != "undecided"


def test_open_class_says_how_many_examples_would_compare_the_classes() -> None:
    how: dict[str, How] = {"negative": "evidence", "positive": "half"}
    few, many = (judge(made(n=n, how=how, noise=0.3)).verdicts[SAME] for n in (20, 160))
    assert few.question == many.question == "same"
    assert few.answer == "uninformative"
    assert few.contrasts
    assert few.decides_at is not None
    assert 40 < few.decides_at < 600
    assert many.answer != "uninformative"


def test_what_would_decide_is_capped_by_the_examples_at_hand() -> None:
    few = made(n=32, how={"negative": "half", "positive": "half"}, noise=0.35)
    (low, high) = judge(few).decides_between or (0, 0)
    capped = judge(replace(few, available=low + 10)).decides_between
    assert capped == (low, low + 10)
    assert high is not None
    assert high > low + 10
    assert judge(replace(few, available=low - 1)).decides_between == (low, high), "there are too few to settle it"


def part(evidence: Evidence, kept: np.ndarray) -> Evidence:
    chosen = np.flatnonzero(kept) if kept.dtype == bool else kept

    def some(values: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(values[i] for i in chosen)

    pointing = {
        key: Curves(c.removed[kept], None if c.kept is None else c.kept[kept], c.own)
        for key, c in evidence.pointing.items()
    }
    return replace(
        evidence, ids=some(evidence.ids), classes=some(evidence.classes), clusters=some(evidence.clusters),
        probability=evidence.probability[kept], neutral=evidence.neutral[kept],
        single={k: v[kept] for k, v in evidence.single.items()}, pointing=pointing,
    )  # fmt: skip


# ---------------------------------------------------------------------- boundaries


@pytest.mark.parametrize(("share", "cell"), [(0.9, "holds"), (0.5, "mixed"), (0.1, "fails")])
def test_the_margins_of_the_share_without_noise(share: float, cell: str) -> None:
    """All examples alike: a share well inside is settled, and nothing is NaN."""
    evidence = exact(share)
    assert [c.cell for c in by_class(evidence)] == [cell, cell]
    for verdict in judge(evidence).verdicts:
        assert all(math.isfinite(c.p) and math.isfinite(c.estimate) for c in verdict.contrasts)


@pytest.mark.parametrize("share", [0.7, 0.3])
def test_on_the_margin_itself_nothing_is_claimed(share: float) -> None:
    assert {c.cell for c in by_class(exact(share))} <= {"imprecise", "mixed"}
    assert judge(exact(share)).verdicts[POINTS].answer in ("uninformative", "mixed")


def exact(share: float) -> Evidence:
    evidence = made(noise=0.0)
    pointing = dict(evidence.pointing)
    for o in OPERATORS:
        best, chance = pointing["gradient", o], pointing["random:0", o]
        kept = None if best.kept is None or chance.kept is None else chance.kept + share * (best.kept - chance.kept)
        pointing["attention", o] = Curves(chance.removed + share * (best.removed - chance.removed), kept)
    return replace(evidence, pointing=pointing)


def test_support_is_clipped_at_the_neutral_level() -> None:
    """Making evidence against is not taking evidence away: p of .1 counts as p of .5."""
    evidence = made(noise=0.0)
    pointing = dict(evidence.pointing)
    for o in OPERATORS:
        curves = pointing["gradient", o]
        pointing["gradient", o] = Curves(np.full_like(curves.removed, 0.1), curves.kept)
        even = pointing["integrated_gradients", o]
        pointing["integrated_gradients", o] = Curves(np.full_like(even.removed, 0.5), even.kept)
    changed = replace(evidence, pointing=pointing)
    for o in OPERATORS:
        np.testing.assert_allclose(gain(changed, "gradient", o, (1,)), gain(changed, "integrated_gradients", o, (1,)))


def test_leave_one_out_is_never_judged_by_its_own_operator() -> None:
    evidence = made()
    assert "leave_one_out:mask" not in others(evidence, "mask")
    assert "leave_one_out:mask" in others(evidence, "delete")


def test_an_example_without_a_probability_is_no_evidence() -> None:
    row = {"id": "a", "predicted": "no", "target": 0, "probability": 0.9, "distribution": [0.9, 0.1]}
    broken = {**row, "id": "b", "probability": None, "distribution": [None, None]}
    keys = Score("keys", "attention", ("a", "b"), np.array([5.0, 5.0]), "none", {"layers": "last", "heads": "mean"})
    (found,) = evidence_of([row, broken], [keys])
    assert found.ids == ("a",)
    assert evidence_of([broken], [keys]) == []


def test_neutral_levels_of_many_classes() -> None:
    rows = [[0.8, 0.1, 0.1], [0.7, 0.2, 0.1]]
    np.testing.assert_allclose(neutral_levels(rows, [0, 1]), [0.75, 1 / 3])


# ---------------------------------------------------------------------- what must not change anything


def test_an_operator_twice_changes_nothing() -> None:
    for how in ("evidence", "half", "random"):
        evidence = made(how={"negative": how, "positive": how})
        again = {(r, "mask again"): c for (r, o), c in evidence.pointing.items() if o == "mask"}
        twice = replace(evidence, pointing={**evidence.pointing, **again})
        assert judge(twice) == judge(evidence)


def test_swapping_the_names_of_classes_swaps_their_verdicts() -> None:
    evidence = made(how={"negative": "random", "positive": "evidence"})
    other = {"negative": "positive", "positive": "negative"}
    swapped = replace(evidence, classes=tuple(other[c] for c in evidence.classes))
    cells = {c.name: c.cell for c in by_class(evidence)}
    assert {other[c.name]: c.cell for c in by_class(swapped)} == cells
    assert cells == {"negative": "fails", "positive": "holds"}


def test_the_order_and_the_names_of_examples_change_nothing() -> None:
    evidence = made()
    order = np.random.default_rng(3).permutation(len(evidence))
    moved = part(evidence, order)
    renamed = replace(evidence, ids=tuple(f"x{i}" for i in range(len(evidence))))
    assert answers(judge(moved)) == answers(judge(evidence))
    assert nameless(judge(renamed)) == nameless(judge(evidence))
    assert judge(evidence) == judge(made())


def nameless(judgement: Judgement) -> Judgement:
    """The judgement without the ids of its examples."""
    rows = [tuple({**row, "example": ""} for row in v.rows) for v in judgement.verdicts]
    verdicts = tuple(replace(v, rows=own) for v, own in zip(judgement.verdicts, rows, strict=True))
    return replace(judgement, verdicts=verdicts)


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.sampled_from(["evidence", "half", "default"]), st.floats(0.01, 0.3))
def test_a_random_ranking_in_the_place_of_attention_never_holds(seed: int, how: How, noise: float) -> None:
    evidence = made(n=40, how={"negative": how, "positive": how}, seed=seed, noise=noise)
    rng = np.random.default_rng(seed)
    pointing = dict(evidence.pointing)
    for o in OPERATORS:
        c = pointing["random:0", o]
        order = rng.permutation(len(evidence))
        pointing["attention", o] = Curves(c.removed[order], None if c.kept is None else c.kept[order])
    found = by_class(replace(evidence, pointing=pointing))
    assert all(c.cell not in ("holds", "leans") for c in found)


def test_the_best_other_ranking_in_the_place_of_attention_holds() -> None:
    evidence = with_attention(made(how={"negative": "random", "positive": "half"}), "gradient")
    assert [c.cell for c in by_class(evidence)] == ["holds", "holds"]


def test_texts_of_one_document_are_one_draw() -> None:
    values = np.random.default_rng(0).normal(0.06, 0.1, 40)
    alone = Mean.of(values, [str(i) for i in range(40)])
    copied = Mean.of(np.repeat(values, 5), [str(i) for i in range(40) for _ in range(5)])
    assert copied.p("above", 0.05) == pytest.approx(alone.p("above", 0.05), abs=1e-9)
    assert Mean.of(np.repeat(values, 5), [str(i) for i in range(200)]).p("above", 0.05) < alone.p("above", 0.05)
    assert Mean.of(values, ["one"] * 40).p("above", -9.0) == 1.0


def test_mean_is_near_students_and_never_bolder() -> None:
    stats = pytest.importorskip("scipy.stats")
    values = np.random.default_rng(1).normal(0.1, 0.3, 400)
    mean = Mean.of(values, [str(i) for i in range(400)])
    expected = stats.ttest_1samp(values, 0.05, alternative="greater")
    assert expected.pvalue <= mean.p("above", 0.05) <= 2.5 * expected.pvalue
    low, high = mean.interval(0.95)
    wide = stats.ttest_1samp(values, 0.05).confidence_interval(0.95)
    assert (low, high) == pytest.approx((wide.low, wide.high), abs=4e-3)
    assert low < wide.low < wide.high < high
    summary = Mean(mean.estimate, mean.error, 400, 400)
    assert summary.p("above", 0.05) == pytest.approx(expected.pvalue, abs=2e-4)
    assert summary.interval(0.95) == pytest.approx((wide.low, wide.high), abs=2e-3)


def test_claims_are_corrected_together_and_what_does_not_survive_is_open() -> None:
    def draft(p: float) -> Draft:
        return Draft("q", "holds", p, Message("yes"), "r")

    assert [v.answer for v in settled([draft(0.03), draft(0.04)])] == ["uninformative", "uninformative"]
    assert [v.answer for v in settled([draft(0.02), draft(0.04)])] == ["holds", "holds"]
    assert [v.answer for v in settled([draft(0.03), draft(math.nan)])] == ["holds", "holds"]
    assert settled([draft(0.03), draft(0.04)])[0].sentence == Message("judge.q.lost")


def _first(found: Judgement, which: int) -> Contrast:
    verdict = found.verdicts[which]
    assert verdict.rests_on, verdict.rule
    return verdict.contrasts[0]


def test_an_open_verdict_shows_what_left_it_open_not_a_precondition_that_passed() -> None:
    # the others agree with each other beyond doubt, but hardly above the margin that agreement is asked at
    found = judge(made(ceiling=0.09, agreement=0.09, noise=0.01))
    assert found.verdicts[AGREE].answer == "uninformative"
    assert _first(found, AGREE).name == Message("judge.agree.others")
    # whether it matters is open because of the route alone: weights plainly move the answer
    open_route = judge(made(n=32, route=0.5))
    assert open_route.verdicts[MATTER].answer == "uninformative"
    hardest = _first(open_route, MATTER)
    assert hardest.name == Message("judge.matter.route")
    assert hardest.p > 0.05
    # Q2 lost nothing but is imprecise: not that there is something to be found, which is certain
    imprecise = judge(made(n=32, how={"negative": "half", "positive": "half"}, noise=0.35))
    assert imprecise.verdicts[POINTS].answer == "uninformative"
    assert _first(imprecise, POINTS).name != Message.of("judge.points.gain", ranking="integrated_gradients")


@pytest.mark.parametrize(
    ("how", "answer", "class_", "claim"),
    [
        ({"negative": "evidence", "positive": "default"}, "holds", "negative", "above"),
        ({"negative": "random", "positive": "default"}, "fails", "negative", "below"),
    ],
)
def test_a_confident_verdict_shows_a_comparison_of_the_class_that_decided(
    how: dict[str, How], answer: str, class_: str, claim: str
) -> None:
    found = judge(made(n=100, how=how))
    verdict = found.verdicts[POINTS]
    assert verdict.answer == answer
    assert {c.where["class"] for c in verdict.contrasts} == set(how), "the others are kept, behind"
    first = verdict.contrasts[: verdict.rests_on]
    assert {c.where["class"] for c in first} == {class_}
    assert [c.p for c in first] == sorted((c.p for c in first), reverse=True)
    assert claim in {c.claim for c in first}


def test_more_examples_are_not_promised_where_they_decide_nothing() -> None:
    evidence = made(displaceable=0.02)
    searched = judge(replace(evidence, single={**evidence.single, "linear": np.zeros(len(evidence))}))
    assert searched.verdicts[EXCLUSIVE].rule == "Q4.lower bound"
    assert searched.verdicts[EXCLUSIVE].decides_at is None
    apart = judge(made(ceiling=0.05, agreement=0.05, noise=0.2))
    assert apart.verdicts[AGREE].decides_at is None, "more examples would only show that there is no ceiling"


def test_every_verdict_carries_what_is_needed_to_check_it() -> None:
    found = judge(made())
    assert found.margins == {**PRINTED, **PRINTED_BESIDE}
    for verdict in found.verdicts:
        assert verdict.rule
        assert verdict.rule_in_words
        assert verdict.not_claimed
        assert isinstance(verdict.sentence, Message)
    rows = found.verdicts[POINTS].rows
    assert {(r["class"], r["operator"]) for r in rows} == {
        (c, o) for c in ("negative", "positive") for o in (*OPERATORS, "together")
    }
    for contrast in found.verdicts[MATTER].contrasts:
        assert contrast.low <= contrast.estimate <= contrast.high
        assert contrast.p <= contrast.corrected


def test_a_judgement_survives_json() -> None:
    found = judge(made())
    text = json.dumps(judgement_to_json(found), allow_nan=False)
    back = judgement_from_json(json.loads(text))
    assert judgement_to_json(back) == judgement_to_json(found)
