"""The first page: the same gauge, answers and commands in every medium."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from fake_run import fake_run
from judged_run import GRADED, judged, verdict

from regard.audits.conclusions.function_words import is_function_word
from regard.audits.conclusions.run_facts import RunFacts
from regard.audits.conclusions.typical_example import typical_example
from regard.measures.agreement import kendall
from regard.present.messages.messages import speaking
from regard.present.overview import QUESTIONS, explain_command, longer_audit, overview
from regard.present.report.as_json import run_json
from regard.present.report.gauge import EDGE, LEAST, MOST, WIDTH, gauge_drawing
from regard.present.report.printing import page_count, paper_size
from regard.present.report.report import PRINTED, Paper, report
from regard.present.report.sections.facts import fact_words
from regard.present.run_reader import Material
from regard.present.verdict_words import tone
from regard.store.judgements import answer_id


def test_gauge_has_attention_the_threshold_and_both_ends_in_their_places() -> None:
    page = overview(Material(judged()))
    assert page is not None
    assert page.gauge is not None
    drawing = gauge_drawing(page.gauge)
    scale = (WIDTH - 2 * EDGE) / (MOST - LEAST)
    (dot,) = re.findall(r'<circle class="here" cx="([\d.]+)"', drawing)
    assert float(dot) == pytest.approx(EDGE + scale * (0.55 - LEAST), abs=0.1)
    ((x, width),) = re.findall(r'<rect class="span" x="([\d.]+)"[^>]*width="([\d.]+)"', drawing)
    assert float(x) == pytest.approx(EDGE + scale * (0.25 - LEAST), abs=0.1)
    assert float(width) == pytest.approx(scale * 0.6, abs=0.2)
    (threshold,) = re.findall(r'<line class="threshold" x1="([\d.]+)"', drawing)
    assert float(threshold) == pytest.approx(EDGE + scale * (0.7 - LEAST), abs=0.1)


@pytest.mark.parametrize("graded", [{**GRADED, "share": None, "low": None, "high": None}, {**GRADED, "low": None}])
def test_gauge_without_a_share_or_a_bound_still_draws(graded: dict[str, Any]) -> None:
    page = report(judged(graded=graded))
    assert ('class="here"' in page) == (graded["share"] is not None)
    assert 'class="threshold"' in page


def test_terminal_page_and_json_give_the_same_six_answers() -> None:
    run = judged()
    expected = dict(zip(QUESTIONS, ("yes", "no", "partly", "not settled", "yes", "yes"), strict=True))
    assert {
        a["question"]: a["answer"] for a in json.loads(json.dumps(run_json(run)))["overview"]["answers"]
    } == expected
    page = report(run)
    assert dict(re.findall(r'data-question="(\w+)" data-answer="([\w ]+)"', page)) == expected
    with speaking("zh"):
        assert dict(re.findall(r'data-question="(\w+)" data-answer="([\w ]+)"', report(run))) == expected


@pytest.mark.parametrize(
    ("rule", "overruled", "word"),
    [
        ("Q6.not tested", "", "not tested"),
        ("Q12.one head", "", "not applicable"),
        ("Q3.x", {"message": "judge.rule.not_asked"}, "not applicable"),
        ("Q2.few", "", "too few"),
        ("Q2.open", "", "not settled"),
    ],
)
def test_answers_that_are_no_answers_have_words_of_their_own(rule: str, overruled: Any, word: str) -> None:
    row = {**verdict("points", "uninformative", rule), "overruled": overruled}
    assert answer_id(row) == word
    assert tone(row) == "open"


def test_only_bad_news_is_marked_as_bad() -> None:
    assert tone(verdict("points", "fails")) == tone(verdict("stable", "fails")) == "bad"
    assert tone(verdict("stable", "holds")) == "good"
    assert tone(verdict("exclusive", "fails")) == tone(verdict("better_method", "fails")) == "plain"
    assert 'class="badge bad"' not in report(judged(verdicts=[verdict("exclusive", "fails")]))


def test_next_step_shows_the_method_and_then_settles_the_question() -> None:
    page = overview(Material(judged(decides_between=[60, 90])))
    assert page is not None
    assert (page.show, page.ties) == ("integrated_gradients", ("leave_one_out",))
    assert [step.purpose for step in page.steps] == ["next.show", "next.settle"]
    assert page.steps[0].command.endswith("--method integrated_gradients")


def test_no_step_promises_more_examples_than_there_are() -> None:
    page = overview(Material(judged(decides_between=[12_010, None])))
    assert page is not None
    assert [step.purpose for step in page.steps] == ["next.show", "next.too_few"]


@pytest.mark.parametrize(
    ("between", "purpose"), [(None, "next.may_settle"), ([60, None], "next.may_settle"), ([900, 1500], "next.too_few")]
)
def test_a_longer_audit_promises_no_more_than_its_verdicts(between: Any, purpose: str) -> None:
    row = {**verdict("points", "uninformative", "Q2.open"), "decides_between": between, "decides_at": None}
    page = overview(Material(judged(decides_between=None, decides_at=None, verdicts=[row])))
    assert page is not None
    assert page.steps[-1].purpose == purpose


def test_examples_are_counted_among_the_steps_and_windows_of_the_data() -> None:
    run = judged()
    assert fact_words(Material(run)).startswith("bilstm on reviews: 12 examples of 811")
    run.manifest |= {"data": {**run.manifest["data"], "n": 4}, "schedule": {"available": 46}}
    assert fact_words(Material(run)).startswith("bilstm on reviews: 12 examples of 46")  # four sounds, 46 steps
    run.manifest["schedule"] = None
    assert fact_words(Material(run)).startswith("bilstm on reviews: 12 examples, ")


def test_longer_audit_pays_for_the_examples_that_would_settle_it() -> None:
    run = judged(decides_between=[60, 90])
    judgement = run.manifest["judgements"][0]
    assert longer_audit({**run.manifest, "schedule": None}, judgement) == "regard audit bilstm --seed 1 --limit 90"
    schedule = {"budget": "5000-passes", "available": 811, "passes_per_example": 300.0, "seconds_per_pass": 0.01}
    assert longer_audit({**run.manifest, "schedule": schedule}, judgement).endswith("--budget 36000-passes")
    timed = longer_audit({**run.manifest, "schedule": {**schedule, "budget": "5m"}}, judgement)
    assert timed == "regard audit bilstm --seed 1 --budget 7m"


def test_commands_on_a_file_read_it_as_the_audit_did() -> None:
    typed = ["regard", "audit", "--task", "anomaly", "--data", "a pump.csv", "--window=32", "--slice", "age", "-q"]
    manifest = {"model": {"source": "run/model"}, "data": {"name": "a pump"}, "command": typed}
    command = explain_command(manifest, "lrp", spans=False)
    assert command == "regard explain run/model --data 'a pump.csv' --window 32 --slice age --row 0 --method lrp"
    unknown = explain_command({**manifest, "command": None}, "lrp", spans=False)
    assert unknown == "regard explain run/model --data 'a pump' --row 0 --method lrp"


def test_nothing_asks_for_examples_that_are_not_there() -> None:
    run = judged(n=811, decides_between=[900, None])
    page = overview(Material(run))
    assert page is not None
    assert [step.purpose for step in page.steps] == ["next.show"]


@pytest.mark.parametrize("graded", [{**GRADED, "show": "attention", "ties": []}, {**GRADED, "ties": ["attention"]}])
@pytest.mark.parametrize(
    ("reading", "purpose"),
    [("debugging only", "next.check"), ("undecided", "next.check"), ("do not read", "next.search")],
)
def test_no_step_searches_for_a_better_method_where_attention_leads(
    graded: dict[str, Any], reading: str, purpose: str
) -> None:
    page = overview(Material(judged(n=811, reading=reading, graded=graded)))
    assert page is not None
    assert [step.purpose for step in page.steps] == [purpose]
    assert ("--method attention" in page.steps[0].command) == (purpose == "next.check")


def test_drawn_example_is_of_median_agreement() -> None:
    run = fake_run(n=9)
    facts = RunFacts(run, run.summaries())
    name = typical_example(facts, "attention", "leave_one_out")
    taus = {}
    for example in run.examples():
        free = [not special for special in example["units"]["special"]]
        pair = [facts.relevance_of(m, example["id"]) for m in ("attention", "leave_one_out")]
        taus[example["id"]] = float(kendall(pair[0][free], pair[1][free]))  # type: ignore[index]
    assert taus[name] == sorted(taus.values())[4]  # type: ignore[index]


def test_function_words_are_told_from_content_words() -> None:
    assert all(map(is_function_word, ("the", "And", ",", "...", "的", "isn't", "it’s")))
    assert not any(map(is_function_word, ("film", "grim", "电影", "2024", "o'brien")))


def test_paper_has_no_interactive_view_and_names_the_sections_it_lacks() -> None:
    run = judged()
    page, sheet = report(run), report(run, paper=Paper("Letter", ("verdicts",)))
    assert "data-regard-viewer" in page
    assert "data-regard-viewer" not in sheet
    assert "<script" not in sheet
    assert "@page { size: Letter;" in sheet
    assert re.findall(r'<section id="([\w-]+)"><details class="whole printed"', sheet) == ["verdicts"]
    assert 'class="soft on-paper"' in sheet
    assert 'class="soft on-paper"' not in report(run, paper=Paper(appendix=True))
    printed = re.findall(r'<section id="([\w-]+)"><details class="whole printed"', page)
    assert set(printed) <= {name.replace("_", "-") for name in PRINTED}


def test_every_section_of_the_second_layer_is_folded() -> None:
    page = report(judged())
    sections = re.findall(r'<section id="[\w-]+"><(\w+)([^>]*)>', page)
    folds = [attributes for name, attributes in sections if name == "details"]
    assert len(folds) > 8
    assert not any("open" in attributes for attributes in folds)
    assert {name for name, _ in sections} == {"details", "h2"}, "only the next step is not folded"


@pytest.mark.parametrize(
    ("locale", "size"), [("en_US.UTF-8", "Letter"), ("de_DE.UTF-8", "A4"), ("C.UTF-8", "A4"), ("zh_CN.UTF-8", "A4")]
)
def test_paper_follows_the_locale(locale: str, size: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LC_ALL", "LC_PAPER", "LANG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", locale)
    assert paper_size() == size


def test_pages_of_a_document_are_counted_without_their_tree() -> None:
    assert page_count(b"<</Type /Pages /Count 2>> <</Type /Page>> <</Type/Page\n>> <</Type /PageLabel>>") == 2
