"""What is computed for showing: differences, the table, words, colours, scales."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from fake_run import fake_run, text_example
from hypothesis import given
from hypothesis import strategies as st

from regard.audits.conclusions.differences import differences
from regard.audits.conclusions.finding_means import Measured
from regard.audits.conclusions.run_facts import RunFacts
from regard.audits.conclusions.word_units import gathered
from regard.measures.intervals import Interval
from regard.present.decimals import at_least, at_most
from regard.present.messages.messages import say
from regard.present.pack.axes import unit_axis
from regard.present.palette import LEVELS, level
from regard.present.report.as_json import run_json
from regard.present.report.charts import ticks
from regard.present.report.markup import data, join, tag
from regard.present.report.robustness.columns import in_words
from regard.present.report.sections.exhibits import written
from regard.present.results_table import evidence, main_settings, shown
from regard.present.run_reader import Material
from regard.present.summary import against_random, reading
from regard.records import Message, Score, Summary, Units

pytestmark = pytest.mark.wording  # reads the words of pages, tables or notes

finite = st.floats(-1e6, 1e6, allow_nan=False)


def test_a_method_that_is_always_better_by_a_constant_differs_by_exactly_that() -> None:
    run = fake_run(n=10)
    base = next(s for s in run.scores() if s.method == "random" and s.metric == "sufficiency")
    run._scores = [base, Score("sufficiency", "attention", base.ids, base.values - 0.25, "lower", base.where)]
    (found,) = differences(RunFacts(run))
    assert found.estimate == pytest.approx(-0.25)
    assert found.low == pytest.approx(-0.25)
    assert found.reading == "better"


@pytest.mark.parametrize(
    ("better", "shift", "expected"),
    [("higher", 1.0, "better"), ("higher", -1.0, "worse"), ("lower", 1.0, "worse"), ("none", 1.0, "undefined")],
)
def test_the_reading_follows_the_direction(better: str, shift: float, expected: str) -> None:
    run = fake_run(n=10)
    base = next(s for s in run.scores() if s.method == "random")
    run._scores = [
        Score("m", "random", base.ids, base.values, better),  # type: ignore[arg-type]
        Score("m", "attention", base.ids, base.values + shift, better),  # type: ignore[arg-type]
    ]
    assert [d.reading for d in differences(RunFacts(run))] == [expected]


def test_noise_around_the_baseline_is_not_told_apart() -> None:
    run = fake_run(n=20)
    base = next(s for s in run.scores() if s.method == "random")
    wobble = np.where(np.arange(20) % 2, 0.1, -0.1)
    run._scores = [base, Score(base.metric, "attention", base.ids, base.values + wobble, base.better, base.where)]
    assert [d.reading for d in differences(RunFacts(run))] == ["not told apart"]


def test_the_table_keeps_the_baseline_last_and_never_calls_it_best() -> None:
    material = Material(fake_run(n=40))
    found = evidence(material.summaries, material.methods)
    assert found.methods[-1] == "random"
    for column in found.columns:
        assert found.best(column) not in {"random", None}
    main = main_settings(found.columns, each=1)
    assert [c.metric for c in main] == ["comprehensiveness", "sufficiency", "agreement"]


def test_a_method_judged_by_its_own_operator_is_never_best() -> None:
    material = Material(fake_run(n=12))
    plain = evidence(material.summaries, material.methods)
    column = next(c for c in plain.columns if c.metric == "comprehensiveness")
    first = plain.best(column)
    assert first is not None
    own = evidence(material.summaries, material.methods, {first: dict(column.setting)["operator"]})
    assert own.judged_by_itself(first, column)
    assert own.best(column) not in {first, None}


def test_the_best_of_methods_no_better_than_random_is_no_winner() -> None:
    def said(method: str, estimate: float, role: str = "method") -> Summary:
        return Summary("comprehensiveness", method, estimate, estimate - 0.1, estimate + 0.1, 30, 30, 0, 0,
                       better="higher", role=role)  # fmt: skip

    for own, best in ((0.15, None), (-0.3, None), (0.35, "attention")):
        found = evidence([said("attention", own), said("random", 0.1, "baseline")], ["attention", "random"])
        assert found.best(found.columns[0]) == best


def test_few_independent_draws_come_with_a_warning() -> None:
    assert any("Only 6 independent draws" in sentence for sentence in reading(Material(fake_run(n=6))))
    assert not any("independent draw" in sentence for sentence in reading(Material(fake_run(n=24))))
    run = fake_run(n=24)
    for i, example in enumerate(run.examples_):
        example["group"] = f"patient {i % 3}"
    assert any("Only 3 independent draws" in sentence for sentence in reading(Material(run)))


def test_two_settings_of_one_explainer_have_operators_of_their_own() -> None:
    specs = [{"name": "leave_one_out", "params": {"operator": o}} for o in ("mask", "delete")]
    labels = ["leave_one_out", "leave_one_out:operator=delete"]
    run = fake_run(n=4, manifest={"settings": {"explainers": specs}, "methods": labels})
    assert Material(run).own_operators == dict(zip(labels, ("mask", "delete"), strict=True))


def test_a_method_that_failed_everywhere_is_named() -> None:
    problems = [{"id": f"e{i}", "stage": stage, "message": "KeyError: 'boom'"} for i in range(4)
                for stage in ("explainer mine", "metric yours of attention")]  # fmt: skip
    metric = {"kind": "metric", "name": "yours", "params": {}}
    said = reading(Material(fake_run(n=4, problems_=problems, manifest={"methods": ["mine"], "specs": [metric]})))
    for name in ("mine", "yours"):
        assert f"{name} left no number. It failed 4 times, first with: KeyError: 'boom'" in said


def test_ceiling_and_self_comparison_are_not_best() -> None:
    material = Material(fake_run(n=12))
    found = evidence(material.summaries, material.methods)
    column = next(c for c in found.columns if c.metric == "agreement")
    assert found.best(column) not in {"input_x_gradient", "leave_one_out"}
    assert shown(found.cells["leave_one_out", column]) == ("–", "with itself")


def test_what_is_shown_without_numbers() -> None:
    nan = float("nan")
    one = Summary("m", "a", 0.5, nan, nan, 1, 1, 0, 0)
    assert shown(one) == ("0.500", "no interval: too few examples")
    assert shown(Summary("m", "a", nan, nan, nan, 0, 0, 3, 0)) == ("–", "undefined")
    assert shown(None) == ("–", "not computed")


def test_maps_without_sign_are_not_called_worse_than_random_for_a_number() -> None:
    class_words, number_words = (
        " ".join(reading(Material(fake_run(n=24, manifest={"model": {"task": task}, "judgements": []}))))
        for task in ("classification", "regression")
    )
    assert say("words.number_no_verdict") in number_words
    assert say("not_a_verdict") in class_words
    material = Material(fake_run(n=24, manifest={"model": {"task": "regression"}}))
    (column, *_) = evidence(material.summaries, material.methods).columns
    below = [
        replace(material.conclusions.differences[0], method=method, estimate=-0.3, low=-0.4, high=-0.2, better="higher")
        for method in ("attention", "input_x_gradient")
    ]
    assert {d.reading for d in below} == {"worse"}
    sentence = against_random(column, below, set(), {"attention"})
    assert say("words.worse", names="input_x_gradient") in sentence
    assert say("words.number_without_sign", names="attention") in sentence


def test_words_say_that_there_are_no_labels() -> None:
    run = fake_run(n=6)
    for example in run.examples_:
        example["label"] = None
    assert any("no labels" in sentence for sentence in reading(Material(run)))
    assert not any("no labels" in sentence for sentence in reading(Material(fake_run(n=6))))


def test_json_has_no_nan() -> None:
    text = json.dumps(run_json(fake_run(n=4)), allow_nan=False)
    agreement = [s for s in json.loads(text)["summaries"] if s["metric"] == "agreement"]
    assert any(s["estimate"] is None for s in agreement)


@given(st.lists(finite, min_size=9, max_size=9))
def test_gathering_words_keeps_the_sum(values: list[float]) -> None:
    example = text_example(0, "one two three four five six seven eight")
    example["units"]["groups"] = [-1, 0, 0, 1, 2, 2, 2, 3, 3]
    words, sums = gathered(example, np.asarray([0.0, *values[1:]]))
    assert words["units"]["names"] == ["one two", "three", "four five six", "seven eight"]
    assert float(sums.sum()) == pytest.approx(float(np.sum(values[1:])), abs=1e-3)


@given(finite, finite)
def test_levels_grow_with_magnitude_and_ignore_sign(a: float, b: float) -> None:
    largest = max(abs(a), abs(b))
    assert 0 <= level(a, largest) <= LEVELS
    assert level(a, largest) == level(-a, largest)
    if abs(a) <= abs(b):
        assert level(a, largest) <= level(b, largest)


@given(st.floats(-1e3, 1e3), st.floats(1e-3, 1e3))
def test_ticks_lie_inside_and_are_evenly_spaced(low: float, span: float) -> None:
    found = ticks(low, low + span)
    assert 1 <= len(found) <= 7
    assert all(low - 1e-6 * span <= t <= low + span + 1e-6 * span for t in found)
    steps = np.diff(found)
    assert np.allclose(steps, steps[:1].repeat(len(steps)), rtol=1e-4)


@given(st.text())
def test_whatever_is_given_stays_text(value: str) -> None:
    assert "<" not in str(join(value)).replace("&lt;", "")
    assert '"' not in str(tag("p", {"title": value}))[len('<p title="') : -len('"></p>')]


@given(st.text())
def test_data_in_a_script_cannot_end_it(value: str) -> None:
    text = str(data({value: [value]}))
    assert "<" not in text
    assert json.loads(text) == {value: [value]}


def test_axis_names_follow_the_keys_and_fall_back_to_positions() -> None:
    nothing = np.zeros(3, np.int64)
    units = Units(("a", "b", "c"), "token", "span", np.zeros((3, 2)), nothing > 0, nothing, nothing,
                  np.array([1, 2, -1]), (3,))  # fmt: skip
    assert unit_axis(units, 4).names == ["0", "a", "b", "3"]


@given(st.floats(-1, 1), st.floats(0, 1), st.floats(0, 1), st.integers(2, 200))
def test_a_displayed_interval_is_the_stored_one_rounded_and_holds_its_estimate(
    estimate: float, below: float, above: float, n: int
) -> None:
    found = Interval(estimate, estimate - below, estimate + above, 0.95)
    summary = Summary("m", "a", found.estimate, found.low, found.high, n, n, 0, 0)
    texts = [" ".join(written(found)), " ".join(written(found, "+")), " ".join(shown(summary))]
    texts += [in_words(Measured(found, n)), in_words(Measured(found, n), percent=False)]
    for text in texts:
        scale = 100 if "%" in text else 1
        numbers = re.findall(r"[-+]?\d+(?:\.\d+)?", text)
        digits = len(numbers[0].partition(".")[2])
        middle, low, high = map(float, numbers)
        assert low <= middle <= high, text
        for number, value in zip((middle, low, high), (found.estimate, found.low, found.high), strict=True):
            assert abs(number - scale * value) <= 0.5 * 10**-digits + 1e-9, text


@given(st.floats(0, 1))
def test_an_end_that_is_promised_is_never_rounded_past_itself(share: float) -> None:
    assert float(at_least(share).rstrip("%")) <= 100 * share + 1e-4
    assert float(at_most(share).rstrip("%")) >= 100 * share - 1e-4


def test_range_of_one_number_is_no_range() -> None:
    from regard.present.messages.messages import render

    one, two = (Message.of("judge.undecided_more", low=low, high=190) for low in (190, 180))
    assert "about 190 would" in render(one)
    assert "180 to 190 would" in render(two)
