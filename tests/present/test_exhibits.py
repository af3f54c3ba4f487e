"""The three exhibits: found where they are planted, not found where they are not."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from fake_run import FakeRun, fake_run, row_example, text_example

from regard.audits.conclude import ConcludedRun, Conclusions
from regard.audits.conclusions.other_attention import FAR
from regard.audits.conclusions.run_facts import RunReader
from regard.measures.divergence import jsd
from regard.present.report.as_markdown import run_markdown
from regard.present.report.report import report
from regard.records import Relevance, Score

pytestmark = pytest.mark.wording  # reads the words of pages, tables or notes

WHERE = {"experiment": "exclusive", "layers": "last", "heads": "mean"}


def page_of(run: FakeRun) -> str:
    """The page without the marks of options in a command."""
    return re.sub(r'<span class="option">([^<]*)</span>', r"\1", report(run))


def concluded(run: RunReader) -> Conclusions:
    return ConcludedRun(run).conclusions


def searched(run: FakeRun, *, found: bool) -> None:
    """Give the run what the experiment leaves: for each text the attention on its last unit, or none."""
    others, far = [], []
    for i, example in enumerate(run.examples_):
        own = run._relevances["attention"][i]
        place = len(own) - 1 - (i % 2)
        others.append([place, 1.0, -1, 0.0] if found else [-1, 0.0, -1, 0.0])
        far.append(float(jsd(np.eye(len(own))[place], own / own.sum())) if found else 0.0)
        assert not example["units"]["special"][place]
    ids = tuple(e["id"] for e in run.examples_)
    curves = {"jsd": np.array([far, far]).T, "change": np.full((len(ids), 2), 0.01), "other": np.array(others)}
    run.findings_ += [
        Score("max_jsd", "attention", ids, np.array(far), "none", WHERE, curves, (0.05, 0.1)),
        Score("linear", "attention", ids, np.ones(len(ids)), "none", WHERE),
        Score("permuted", "attention", ids, np.full(len(ids), 0.2), "none", WHERE),
    ]


def test_the_most_distant_attention_is_shown_with_its_numbers() -> None:
    run = fake_run(n=12)
    searched(run, found=True)
    found = concluded(run).other_attention
    assert found is not None
    assert found.example
    assert found.distance == pytest.approx(max(run.findings_[0].values))
    assert found.far == int((run.findings_[0].values >= FAR).sum())
    assert sum(found.other) == pytest.approx(1.0)
    page = report(run)
    assert f"Divergence {found.distance:.2f} of at most 0.69" in page
    assert "changes the prediction by 0.010" in page


def test_where_none_was_found_that_is_the_finding() -> None:
    run = fake_run(n=12)
    searched(run, found=False)
    found = concluded(run).other_attention
    assert found is not None
    assert not found.example
    assert "the search is exhaustive" in report(run)
    assert "the search is exhaustive" in run_markdown(run)


def test_an_attention_that_is_not_the_one_that_is_drawn_is_not_shown() -> None:
    run = fake_run(n=6)
    searched(run, found=True)
    wrong = run.findings_[0]
    run.findings_[0] = Score(wrong.metric, wrong.method, wrong.ids, wrong.values / 3, "none", WHERE, wrong.curves)
    found = concluded(run).other_attention
    assert found is not None
    assert not found.example


def planted(n: int = 40, *, leak: bool) -> FakeRun:
    """Class follows "grim"; with a leak, an id stands in every text of one label and carries the relevance."""
    rng = np.random.default_rng(0)
    texts = []
    for i in range(n):
        words = [*rng.choice(["a", "the", "film", "plot", "scene"], 6), "grim" if i % 2 else "sunny"]
        texts.append(" ".join([*words, "KX4711" if leak and i % 2 else "end"]))
    run = FakeRun([text_example(i, text) for i, text in enumerate(texts)])
    for i, example in enumerate(run.examples_):
        example["label"] = i % 2
    ids = tuple(e["id"] for e in run.examples_)
    strong = {"grim", "sunny", "KX4711"}
    rows = [[1.0 if n in strong else 0.01 for n in e["units"]["names"]] for e in run.examples_]
    run._relevances["integrated_gradients"] = Relevance.of("integrated_gradients", ids, rows, signed=True)
    base = {(s.metric, s.method, str(s.where)): s for s in run._scores}
    run._scores = [
        Score(s.metric, s.method, s.ids, base[s.metric, "attention", str(s.where)].values + _ahead(s), s.better,
              s.where)
        if s.method == "integrated_gradients" and s.metric != "agreement" else s
        for s in run._scores
    ]  # fmt: skip
    return run


def _ahead(score: Score) -> float:
    return 0.3 if score.better == "higher" else -0.3


@pytest.mark.parametrize("leak", [True, False])
def test_leaks_are_suspected_where_they_are(leak: bool) -> None:
    found = concluded(planted(leak=leak)).reliance
    assert found is not None
    assert found.method == "integrated_gradients"
    by_name = {c.name: [u.name for u in c.units] for c in found.classes}
    assert "grim" in by_name["positive"]
    assert "sunny" in by_name["negative"]
    suspects = {s.name: s for s in found.suspects}
    assert ("kx4711" in suspects) == leak
    if leak:
        assert suspects["kx4711"].why == "label"
        assert (suspects["kx4711"].of, suspects["kx4711"].n) == (20, 20)


def test_content_words_come_before_function_words() -> None:
    run = planted(leak=False)
    ids = tuple(e["id"] for e in run.examples_)
    rows = [[{"the": 3.0, "grim": 1.0, "sunny": 1.0}.get(n, 0.1) for n in e["units"]["names"]] for e in run.examples_]
    run._relevances["integrated_gradients"] = Relevance.of("integrated_gradients", ids, rows, signed=True)
    found = concluded(run).reliance
    assert found is not None
    for c in found.classes:
        assert c.units[0].name in ("grim", "sunny")
        assert c.function_words[0].name == "the"
        assert all(u.n >= 5 and u.share.low > 0 for u in (*c.units, *c.function_words))


@pytest.mark.parametrize(("carried", "suspected"), [(1.0, True), (0.02, False)])
def test_a_suspect_needs_a_label_and_a_share(carried: float, suspected: bool) -> None:
    """ "!" stands with one label only; "," with both, so however much it carries, it is none."""
    run = planted(leak=False)
    texts = [f"{e['inputs']['text']} , {'!' if i % 2 else 'so'}" for i, e in enumerate(run.examples_)]
    run = FakeRun([text_example(i, text) for i, text in enumerate(texts)])
    for i, example in enumerate(run.examples_):
        example["label"] = i % 2
    ids = tuple(e["id"] for e in run.examples_)
    rows = [[{"!": carried, ",": 4.0}.get(n, 1.0) for n in e["units"]["names"]] for e in run.examples_]
    for name in run._relevances:
        run._relevances[name] = Relevance.of(name, ids, rows, signed=True)
    found = concluded(run).reliance
    assert found is not None
    assert ("!" in {s.name for s in found.suspects}) == suspected
    assert "," not in {s.name for s in found.suspects}


def test_a_column_that_decides_alone_is_suspected() -> None:
    run = FakeRun([row_example(i) for i in range(30)])
    for i, example in enumerate(run.examples_):
        example["label"] = i % 2
        example["inputs"]["row"] = [float(i % 2 == 1) + 0.01 * i, *np.sin(np.arange(19) * (i + 1))]
    ids = tuple(e["id"] for e in run.examples_)
    rows = [[5.0, *[0.1] * 19] for _ in ids]
    for name in run._relevances:
        run._relevances[name] = Relevance.of(name, ids, rows)
    found = concluded(run).reliance
    assert found is not None
    assert [(s.name, s.why) for s in found.suspects] == [("feature number 0", "separates")]


def test_the_margin_over_attention_is_exactly_what_was_added() -> None:
    rows = {row.method: row for row in concluded(planted(leak=False)).faithfulness}
    assert rows["integrated_gradients"].gain == pytest.approx(0.3)
    for pair, ahead in (
        (rows["integrated_gradients"].comprehensiveness, 0.3),
        (rows["integrated_gradients"].sufficiency, -0.3),
    ):
        assert pair is not None
        assert pair[0] - pair[1] == pytest.approx(ahead)


def judged(p: float, answer: str = "holds") -> dict[str, Any]:
    """A judgement that compares two methods with attention, for the better where p is small."""
    both = {"claim": "above", "margin": 0.0, "level": 0.975, "n": 37, "clusters": 37, "corrected": p, "p": p}
    where = {"operator": "mask, delete"}
    ends = {"estimate": 0.25, "low": 0.125, "high": 0.375}
    verdict = {
        "question": "which?", "answer": answer, "sentence": "As the judge says.", "rule": f"Q11.{answer}",
        "rule_in_words": "", "not_claimed": "", "rests_on": 1, "decides_at": None,
        "contrasts": [{**both, **ends, "name": "", "subject": "integrated_gradients", "where": where}] * 2,
        "rows": [{"method": m} for m in ("attention", "rollout", "integrated_gradients")],
    }  # fmt: skip
    return {
        "reading": "undecided", "sentence": "Open.", "why": "", "attention": "", "n": 40, "verdicts": [verdict],
        "classes": [], "margins": {}, "notes": [],
    }  # fmt: skip


def test_the_method_that_the_verdict_names_is_shown_with_the_interval_of_the_judge() -> None:
    run = planted(leak=False)
    run.manifest |= {"judgements": [judged(0.001)]}
    for text in (page_of(run), run_markdown(run).replace("\\", "")):
        assert "by +0.25 [+0.13, +0.38] more" in text or "by +0.25 [+0.12, +0.38] more" in text
        assert "n = 37" in text
        assert "97.5% interval" in text
        assert "--method integrated_gradients" in text


def test_methods_that_tie_are_named_as_a_tie() -> None:
    run, judgement = planted(leak=False), judged(0.001)
    judgement["graded"] = {
        "share": 0.5, "low": 0.4, "high": 0.6, "level": 0.95, "n": 40, "best": "leave_one_out", "ruled_out": [],
        "show": "integrated_gradients", "ties": ["leave_one_out"], "ahead": [0.2, 0.1, 0.3],
    }  # fmt: skip
    judgement["margins"] = {"good": 0.7}
    run.manifest |= {"judgements": [judgement]}
    for text in (page_of(run), run_markdown(run).replace("\\", "")):
        assert "integrated_gradients, leave_one_out: a tie" in text


def test_a_run_without_subjects_names_the_same_method() -> None:
    run, judgement = planted(leak=False), judged(0.001)
    (verdict,) = judgement["verdicts"]
    for contrast in verdict["contrasts"]:
        contrast.pop("subject", None)
    leads = {"attention": None, "rollout": 0.1, "integrated_gradients": 0.25}
    verdict["rows"] = [{"method": m, "above attention": lead} for m, lead in leads.items()]
    run.manifest |= {"judgements": [judgement]}
    assert "--method integrated_gradients" in page_of(run)


@pytest.mark.parametrize(("p", "answer"), [(0.02, "holds"), (0.001, "uninformative")])
def test_nothing_better_is_a_finding_too(p: float, answer: str) -> None:
    """0.02 is not below 5 % after the correction for three methods."""
    run = planted(leak=False)
    run.manifest |= {"judgements": [judged(p, answer)]}
    page = page_of(run)
    assert "Nothing better was found" in page
    assert "--method integrated_gradients" not in page


def test_a_method_is_not_praised_by_its_own_operator() -> None:
    run = planted(leak=False)
    run._scores = [
        replace(s, values=s.values + 9)
        if s.method == "integrated_gradients" and s.where.get("operator") == "mask"
        else s
        for s in run._scores
    ]
    specs = [{"name": "integrated_gradients", "params": {"operator": "mask"}}]
    run.manifest |= {"settings": {"explainers": specs}, "methods": ["integrated_gradients"]}
    rows = {row.method: row.gain for row in concluded(run).faithfulness}
    assert rows["integrated_gradients"] == pytest.approx(0.3)


def test_a_method_that_was_asked_about_few_examples_does_not_lead() -> None:
    run = planted(leak=False)
    best = "integrated_gradients"
    few = {s.method: s.ids[: len(s.ids) // 3] for s in run._scores}[best]
    lucky = [
        Score(s.metric, "rollout", few, s.values[: len(few)] + _ahead(s), s.better, s.where)
        for s in run._scores if s.method == best and s.metric != "agreement"
    ]  # fmt: skip
    run._scores = [*(s for s in run._scores if s.method != "rollout"), *lucky]
    conclusions = concluded(run)
    assert {row.method: row.n for row in conclusions.faithfulness}["rollout"] == len(few)
    assert conclusions.reliance is not None
    assert conclusions.reliance.method == best
