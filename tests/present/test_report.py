"""The page: complete, self-contained, and closed to whatever stands in the data."""

from __future__ import annotations

import base64
import hashlib
import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_run import JUDGEMENT, METHODS, MODALITIES, FakeRun, fake_run, text_example

from regard.errors import EnvironmentProblem
from regard.present.messages.messages import say
from regard.present.report.markup import VOID
from regard.present.report.report import SECTIONS, report, write_report
from regard.present.verdict_words import weakest
from regard.store.judgements import judgement_to_json

pytestmark = pytest.mark.wording  # reads the words of pages, tables or notes

EVIL = "</script><script>document.title='pwned'</script><img src=x onerror=\"document.title='pwned'\">"


PICTURE = "data:image/png;base64,"
"""A picture inside the page."""


class Outline(HTMLParser):
    """Elements, ids and attributes of a page; complains about tags that do not match."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.words: list[str] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in {"meta", "br", "hr", "input"}:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in VOID
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@pytest.fixture(scope="module", params=list(MODALITIES))
def page(request: pytest.FixtureRequest) -> str:
    return report(fake_run(request.param, n=12))


def hostile() -> FakeRun:
    run = fake_run(n=4, problems_=[{"id": EVIL, "stage": EVIL, "message": EVIL}])
    run.examples_[0] = text_example(0, f"good {EVIL} bad")
    run = FakeRun(run.examples_, problems_=run.problems_)
    run.manifest["model"].update(name=EVIL, labels=[EVIL, EVIL])
    run.manifest["data"].update(name=EVIL, notes=[EVIL], source=EVIL)
    run.manifest.update(skipped={EVIL: EVIL}, command=[EVIL], label_table=[{"model": EVIL, "data": EVIL}])
    return run


def test_every_section_is_there_and_tags_match(page: str) -> None:
    outline = Outline(page)
    ids = {value for name, value in outline.attributes if name == "id"}
    # this run has no slices, no verdicts, no plan, no other data, and no experiments
    without = {"by_slice", "errs", "meaning", "shift", "heads", "robustness", "improvement", "plan_followed"}
    without |= {"removal_in_distribution"}
    assert {name.replace("_", "-") for name in SECTIONS if name not in without} <= ids
    anchors = {value for name, value in outline.attributes if name == "href" and not value.startswith(PICTURE)}
    assert all(value.startswith("#") and value[1:] in ids for value in anchors)
    assert outline.tags.count("main") == outline.tags.count("h1") == 1


def test_nothing_is_loaded_and_no_style_or_handler_is_inline(page: str) -> None:
    outline = Outline(page)
    for name, value in outline.attributes:
        assert name not in {"src", "style", "srcset"}
        assert not name.startswith("on")
        assert "//" not in value or name in {"content", "title"} or value.startswith(PICTURE)


def test_the_policy_names_the_hashes_of_style_and_script(page: str) -> None:
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    said = policy.group(1).replace("&#x27;", "'")
    assert "default-src 'none'" in said
    assert "unsafe" not in said
    for name, mark in (("style", "<style>"), ("script", '<script type="module">')):
        (text,) = re.findall(rf"{mark}(.*?)</{name}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in said


def test_the_caveat_stands_beside_every_map(page: str) -> None:
    words = "".join(Outline(page).words)
    assert words.count(say("caveat")) >= 3  # first screen, examples, attention
    assert say("not_a_verdict") in words


def test_tokens_cannot_break_out() -> None:
    page = report(hostile())
    outline = Outline(page)
    kinds = [value for name, value in outline.attributes if name == "type"]
    assert outline.tags.count("script") == len(kinds)
    assert kinds.count("module") == 1, "all other scripts are data, which no browser runs"
    assert set(kinds) <= {"module", "application/json", "application/gzip"}
    assert "img" not in outline.tags
    assert "<script>document" not in page


def test_interval_n_and_seed_are_with_the_numbers() -> None:
    run = fake_run(n=12, seed=7)
    page = report(run)
    assert "n = 12, seed 7" in page
    for summary in run.summaries():
        if np.isfinite(summary.estimate) and summary.where.get("operator") == "mask" and "class" not in summary.where:
            assert f"{summary.estimate:.3f}<small>[{summary.low:.3f}, {summary.high:.3f}]</small>" in page


def test_without_an_interval_nothing_is_called_best() -> None:
    page = report(fake_run(n=1))
    assert "no interval" in page
    assert 'class="n best"' not in page


def test_partial_and_empty_runs_still_make_a_page() -> None:
    run = fake_run(n=4, manifest={"status": "interrupted"})
    run._summaries.clear()
    run._scores.clear()
    run.keep = 0
    page = report(run)
    assert "This run is interrupted: 4 of 4 examples are in" in page
    assert "data-regard-viewer" not in page
    assert "script-src &#x27;none&#x27;" in page
    Outline(page)


def test_skipped_methods_and_problems_are_listed() -> None:
    run = fake_run(n=4, manifest={"skipped": {"rollout": "no self-attention"}})
    run.problems_ = [{"id": "e1", "stage": "encode", "message": "an empty text"}]
    words = "".join(Outline(report(run)).words)
    assert "no self-attention" in words
    assert "an empty text" in words


def test_a_method_compared_with_itself_is_no_missing_value() -> None:
    run = fake_run(n=8)
    assert any(s.undefined for s in run.summaries()), "leave_one_out with itself"
    words = "".join(Outline(report(run)).words)
    assert "could not be defined" not in words


def test_charts_name_their_operator_and_the_head_says_how_often_the_model_is_right() -> None:
    run = fake_run(n=8)
    labels = run.manifest["model"]["labels"]
    for i, example in enumerate(run.examples_):
        example["predicted"] = labels[0]
        example["label"] = labels[0] if i < 6 else labels[1]
    words = "".join(Outline(report(run)).words)
    assert "comprehensiveness, mask (higher is better)" in words
    assert "comprehensiveness, delete (higher is better)" in words
    assert "6 of 8 (75% [41%, 93%]), most frequent class 75%" in words
    assert f"one class: {labels[0]}" in words


def test_the_file_is_whole_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = write_report(fake_run(n=4), tmp_path / "deep" / "down")
    assert path == tmp_path / "deep" / "down" / "report.html"
    assert path.read_text("utf-8").endswith("</html>\n")
    assert [p.name for p in path.parent.iterdir()] == ["report.html"]


def test_every_method_colours_every_example() -> None:
    page = report(fake_run(n=2))
    examples = page.split('class="examples"')[1].split("</section>")[0]
    assert len(re.findall(r'class="who"', examples)) == 2 * len(METHODS)
    assert re.search(r'class="u p\d', examples)
    assert re.search(r'class="u m\d', examples)
    assert re.search(r'class="u a\d', examples)


def test_in_a_browser_the_script_runs_and_injected_ones_do_not(browser: str, tmp_path: Path) -> None:
    path = write_report(hostile(), tmp_path / "report.html")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--dump-dom"]
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    done = subprocess.run(
        [browser, *flags, profile, path.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    assert "<title>Audit of &lt;/script&gt;" in done.stdout
    assert "data-mounted" in done.stdout.split("attention-viewer")[1][:80], "our own script did run"


def test_the_page_says_how_examples_were_chosen_and_what_decides() -> None:
    words = "".join(Outline(report(fake_run(n=4))).words)
    assert "the first examples of every label in turn" in words
    assert "the paired table “Difference to random” decides whether a method differs from random" in words


def test_on_a_phone_only_the_table_scrolls(browser: str, tmp_path: Path) -> None:
    path = write_report(fake_run(n=12), tmp_path / "report.html")
    # a frame is as narrow as it is told to be, which a headless window is not
    frame = f'<iframe id="f" src="{path.as_uri()}" style="width:400px;height:900px;border:0"></iframe>'
    measure = (
        "<script>onload = () => { const d = document.getElementById('f').contentDocument;"
        " const t = d.querySelector('#results .scroll');"
        " const p = d.documentElement;"
        " document.title = [p.scrollWidth - p.clientWidth, t.clientWidth, t.scrollWidth].join(' '); }</script>"
    )
    outside = tmp_path / "phone.html"
    outside.write_text(f"<!doctype html><title></title>{frame}{measure}", "utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--dump-dom"]
    flags += ["--allow-file-access-from-files", f"--user-data-dir={tmp_path / 'profile'}"]
    done = subprocess.run([browser, *flags, outside.as_uri()], capture_output=True, text=True, timeout=120, check=True)
    found = re.search(r"<title>(\d+) (\d+) (\d+)</title>", done.stdout)
    assert found is not None, done.stdout[:200]
    beyond, seen, whole = map(int, found.groups())
    assert beyond == 0
    assert seen <= 400 < whole


@pytest.mark.parametrize("measured", [True, False])
def test_every_report_says_how_often_the_judge_errs(measured: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    from regard.present.report.sections import errs

    nothing = dict.fromkeys(("holds", "fails", "mixed", "uninformative"), 0)
    counts = {truth: dict(nothing) for truth in nothing}
    counts["holds"] |= {"holds": 97, "fails": 2}
    figure = {"count": 2, "n": 99, "share": 0.02, "low": 0.006, "high": 0.071}
    record = {
        "models": 31, "wrong": figure, "power": {**figure, "share": 0.98}, "tables": {"all": counts}, "openings": 3,
        "date": "2026-11-15T12:00:00Z", "commit": "abc1234",
    }  # fmt: skip
    monkeypatch.setattr(errs, "track_record", lambda: record if measured else None)
    page = report(fake_run(n=4, manifest={"judgements": [judgement_to_json(JUDGEMENT)]}))
    assert "Its answer would change." in page
    if measured:
        assert "on 31 planted models" in page
        assert "2 of 99 verdicts were confidently wrong" in page
        assert "opened 3 times" in page
        assert "about the first six questions only" in page
        assert "their error rate is unknown" in page
        assert "<td>97</td><td>2</td>" in page
    else:
        assert "has not been measured yet" in page
    assert "Error rate of these verdicts" not in report(fake_run(n=4)), "where nothing was judged"


@pytest.mark.parametrize("form", ["html", "markdown", "terminal"])
@pytest.mark.parametrize(
    ("task", "place_kind", "measured"),
    [
        ("classification", "span", True),
        ("sequence_to_sequence", "span", False),
        ("next_token", "span", False),
        ("classification", "box", False),
        ("classification", "column", False),
        ("forecasting", "range", False),
    ],
)
def test_no_error_rate_is_stated_for_a_kind_that_was_not_measured(
    form: str, task: str, place_kind: str, *, measured: bool
) -> None:
    from rich.console import Console

    from regard.present.judge_error_rate import covers
    from regard.present.report.as_markdown import _verdicts as markdown
    from regard.present.report.sections.errs import errs
    from regard.present.run_reader import Material
    from regard.present.verdict_words import verdict_table

    judgements = [judgement_to_json(JUDGEMENT)]
    model = {"name": "m", "task": task, "labels": ["a", "b"]}
    material = Material(fake_run(n=4, manifest={"judgements": judgements, "model": model}))
    for example in material.examples:
        example["units"]["place_kind"] = place_kind
    if form == "html":
        text = str(errs(material))
    elif form == "markdown":
        text = "\n".join(markdown(material))
    else:
        console = Console(record=True, width=4000)
        console.print(verdict_table(judgements, covered=covers(material.task, material.examples)))
        text = console.export_text()
    assert ("verdicts were confidently wrong" in text) is measured
    assert ("Measured on small models that classify texts" in text) is measured
    assert ("How often the judge errs here is unknown" in text) is not measured


def test_an_answer_is_shown_with_the_comparison_that_it_hangs_on() -> None:
    def compared(name: str, p: float) -> dict[str, Any]:
        return {
            "name": name, "claim": "above", "margin": 0.05, "estimate": 0.06, "low": 0.051, "high": 0.07, "n": 80,
            "p": p, "corrected": 4 * p, "where": {},
        }  # fmt: skip

    contrasts = [compared("tight", 0.01), compared("sure", 1e-9), compared("of another claim", 0.012)]
    verdict = {"answer": "holds", "contrasts": contrasts, "rests_on": 2}
    assert weakest(verdict) == "tight 0.060 [0.051, 0.070], above 0.05? n = 80, p 0.010, corrected 0.040"
    assert weakest({**verdict, "rests_on": 0}) == "", "nothing was compared: the map is empty, or nothing was tested"
    assert weakest({**verdict, "contrasts": [{**contrasts[0], "estimate": None}]}) == ""


def test_a_page_stays_within_its_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = report(fake_run(n=8))
    assert "Left out of this page" not in whole
    monkeypatch.setattr("regard.present.report.report.MOST_BYTES", 60_000)
    page = report(fake_run(n=8))
    assert "Left out of this page to keep it below 0 MB" in page
    assert len(page) < len(whole)
    assert 'id="verdicts"' in page, "what it is about is never left out"
    outline = Outline(page)
    ids = {value for name, value in outline.attributes if name == "id"}
    assert all(v[1:] in ids for n, v in outline.attributes if n == "href" and v.startswith("#"))


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(EnvironmentProblem, match="No space left on device"):
        write_report(fake_run(n=4), tmp_path / "out" / "report.html")
    assert not list((tmp_path / "out").iterdir())
