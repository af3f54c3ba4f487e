"""The graded headline: known shares, agreement with the tests that decide, and the method to show."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from made_evidence import How, made, with_attention

from regard.improve.interpretability import linearised_share
from regard.judge.captured_share import FOLDS, _share, gains_of_best, graded, ruled_out
from regard.judge.evidence import Evidence
from regard.judge.judge import judge
from regard.judge.margins import GOOD, POOR
from regard.judge.mean_tests import Mean
from regard.judge.other_evidence import Beside
from regard.present.messages.messages import speaking
from regard.present.verdict_words import captured, graded_lines, headline, weakest
from regard.records import Graded, Verdict
from regard.store.judgements import judgement_from_json, judgement_to_json, with_answer_ids


@pytest.mark.parametrize(("how", "share"), [("evidence", 1.0), ("half", 0.5), ("random", 0.0)])
def test_the_share_is_that_of_the_construction(how: How, share: float) -> None:
    grade = judge(made(n=80, how={"negative": how, "positive": how})).graded
    assert grade is not None
    assert grade.low <= grade.share <= grade.high
    assert abs(grade.share - share) < 0.05
    assert grade.high - grade.low < 0.1
    assert grade.n == 160


def test_the_column_of_an_improvement_has_the_share_as_its_mean() -> None:
    evidence = made(n=40, how={"negative": "half", "positive": "evidence"}, noise=0.2, seed=1)
    values = linearised_share(*gains_of_best(evidence)[:2])
    assert values.std() > 0
    assert values.mean() == pytest.approx(graded(evidence, ()).share)


def test_no_share_where_no_method_has_an_effect() -> None:
    judgement = judge(made(how={"negative": "default", "positive": "default"}))
    assert judgement.graded is not None
    assert math.isnan(judgement.graded.share)
    assert judgement.graded.ruled_out == ("nothing to read",)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_without_a_share_the_headline_gives_the_effect_with_its_interval(language: str) -> None:
    judgement = judge(made(n=40, how={"negative": "default", "positive": "default"}))
    assert judgement.graded is not None
    effect, low, high = judgement.graded.effect
    assert low <= effect <= high
    assert high - low < 0.25
    stored = judgement_to_json(replace(judgement, reading="undecided"))
    again = judgement_from_json(stored).graded
    assert again is not None
    assert again.effect == pytest.approx(judgement.graded.effect, abs=1e-6)
    numbers = f"[{100 * low:.0f}, {100 * high:.0f}]"
    with speaking(language):
        assert numbers in headline(stored)
        assert numbers in graded_lines(stored)[0]


def test_too_few_examples_are_not_said_to_have_no_effect() -> None:
    stored = judgement_to_json(judge(made(n=2, how={"negative": "evidence", "positive": "evidence"})))
    assert stored["graded"]["share"] is None
    assert "too few examples for an interval" in graded_lines(stored)[0]


def test_the_effect_is_that_of_the_best_method() -> None:
    grade = judge(made(n=80, how={"negative": "evidence", "positive": "evidence"})).graded
    assert grade is not None
    assert grade.effect[0] > 0.3
    assert grade.effect[1] > 0.05


@pytest.mark.parametrize("seed", range(6))
def test_the_interval_agrees_with_the_tests_of_the_same_gains(seed: int) -> None:
    """A share is inside exactly where its contrast A - s B is not distinguishable from 0."""
    evidence = made(n=25, how={"negative": "half", "positive": "evidence"}, noise=0.25, seed=seed)
    ours, best, _ = gains_of_best(evidence)
    _, low, high = _share(evidence, ours, best)
    for part in (POOR, GOOD, 0.5, 0.9, 1.1):
        below, above = Mean.of(ours - part * best, evidence.clusters).interval(0.95)
        assert (low <= part <= high) == (below <= 0 <= above)


def test_looking_several_times_widens_the_interval() -> None:
    """A share that is reported whenever the rounds stop must hold its level over all of the looks."""
    evidence = made(n=32, how={"negative": "half", "positive": "half"}, noise=0.2)
    once, often = graded(evidence, ()), graded(replace(evidence, looks=(16, 32, 64, 128, 256)), ())
    assert often.share == once.share
    assert often.low < once.low
    assert often.high > once.high


def test_the_best_method_is_chosen_on_other_examples() -> None:
    """Rankings of pure noise: the one that is best by luck is not best on the fold that it is used for."""
    rng = np.random.default_rng(1)
    evidence = made(n=40, how={"negative": "default", "positive": "default"})
    noisy = {
        key: replace(curves, removed=np.clip(curves.removed + 0.3 * rng.standard_normal(curves.removed.shape), 0, 1))
        for key, curves in evidence.pointing.items()
    }
    _, best, names = gains_of_best(replace(evidence, pointing=noisy))
    assert abs(Mean.of(best, evidence.clusters).estimate) < 0.05
    assert sum(names.values()) == len(evidence) * len(evidence.operators)
    assert FOLDS > 1


def test_order_and_scale_change_nothing() -> None:
    evidence = made(n=30, how={"negative": "half", "positive": "half"}, noise=0.1)
    order = np.random.default_rng(0).permutation(len(evidence))

    def mixed(values: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(values[i] for i in order)

    shuffled = Evidence(
        ids=mixed(evidence.ids),
        classes=mixed(evidence.classes),
        clusters=mixed(evidence.clusters),
        probability=evidence.probability[order],
        neutral=evidence.neutral[order],
        pointing={
            key: replace(c, removed=c.removed[order], kept=None if c.kept is None else c.kept[order])
            for key, c in evidence.pointing.items()
        },
    )
    one, other = graded(evidence, ()), graded(shuffled, ())
    assert (one.share, one.low, one.high) == pytest.approx((other.share, other.low, other.high), abs=1e-9)
    same = with_attention(evidence, "integrated_gradients")
    assert abs(graded(same, ()).share - 1) < 0.1


def verdict(question: str, answer: str) -> Verdict:
    return Verdict(question, answer, "", "", "", "")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("answers", "interval", "excluded"),
    [
        ({"matter": "holds"}, (0.4, 0.9), ("nothing to read",)),
        ({"matter": "holds"}, (0.4, 0.6), ("read as evidence", "nothing to read")),
        ({"points": "holds"}, (0.8, 1.0), ("do not read",)),
        (
            {"matter": "fails"},
            (math.nan, math.nan),
            ("read as evidence", "for most inputs", "debugging only", "do not read"),
        ),
        ({"matter": "uninformative", "points": "uninformative"}, (0.2, 0.9), ()),
    ],
)
def test_readings_are_ruled_out_by_answers_and_interval(
    answers: dict[str, str], interval: tuple[float, float], excluded: tuple[str, ...]
) -> None:
    verdicts = [verdict(question, answer) for question, answer in answers.items()]
    assert ruled_out(verdicts, *interval, whole=False) == excluded


def test_no_judgement_rules_its_own_reading_out() -> None:
    for how in ("evidence", "half", "random", "default"):
        for n in (12, 40, 80):
            judgement = judge(made(n=n, how={"negative": how, "positive": how}, noise=0.2))
            assert judgement.graded is not None
            assert judgement.reading not in judgement.graded.ruled_out


def test_a_tie_is_named_and_a_worse_method_is_not() -> None:
    evidence = made(n=40)
    rng = np.random.default_rng(0)
    base = rng.normal(0.3, 0.05, len(evidence))

    def method(lead: float) -> dict[str, np.ndarray]:
        return {o: base + lead + rng.normal(0, 0.02, len(evidence)) for o in ("mask", "delete")}

    methods = {"random": method(-0.3), "attention": method(-0.2), "lime": method(0.0), "saliency": method(-0.1)}
    methods["integrated_gradients"] = {o: v + 0.001 for o, v in methods["lime"].items()}
    judgement = judge(replace(evidence, beside=Beside(methods=methods, plain=frozenset({"random"}))))
    grade = judgement.graded
    assert grade is not None
    assert {grade.show, *grade.ties} == {"lime", "integrated_gradients"}
    assert grade.ahead[1] > 0.15


def test_it_is_stored_and_read_again() -> None:
    for judgement in (judge(made(n=20)), judge(made(how={"negative": "default", "positive": "default"}))):
        stored = json.loads(json.dumps(judgement_to_json(judgement)))
        again = judgement_from_json(stored)
        assert isinstance(again.graded, Graded)
        assert judgement_to_json(again) == judgement_to_json(judgement)
    old = {name: value for name, value in stored.items() if name != "graded"}
    assert judgement_from_json(old).graded is None
    assert graded_lines(old) == []


def test_undecided_never_stands_alone() -> None:
    judgement = judgement_to_json(judge(made(n=8, how={"negative": "half", "positive": "evidence"})))
    assert judgement["reading"] == "undecided"
    assert captured(judgement) in headline(judgement)
    assert graded_lines(judgement)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_too_few_examples_are_given_no_interval_in_words(language: str) -> None:
    stored = judgement_to_json(judge(made(n=3)))
    measured = [v for v in with_answer_ids(stored)["verdicts"] if v["rests_on"]]
    assert {v["answer_id"] for v in measured} == {"too few"}
    with speaking(language):
        words = [headline(stored), *graded_lines(stored), *(weakest(v) for v in stored["verdicts"])]
    assert "6" in words[0]
    assert not any("∞" in text or "[" in text for text in words), words
