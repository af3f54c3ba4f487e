"""`regard report` in every form and language, redacted; `--no-text` leaves no word behind."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from regard.audits.audit import audit
from regard.cli.root import root
from regard.errors import EnvironmentProblem
from regard.present.report import printing
from regard.store.run import Run

TEXTS = (
    "a wonderful kaleidoscope of marmalade", "the dreadful accordion was awful", "superb zeppelins and a fine walrus",
    "an awful heliograph , dull and dreadful", "wonderful , superb trombones", "dull quicksand with a dreadful end",
    "a fine wonderful periwinkle", "the awful limestone was dull",
)  # fmt: skip
RARE = ("kaleidoscope", "marmalade", "accordion", "zeppelins", "walrus", "heliograph", "trombones", "quicksand",
        "periwinkle", "limestone")  # fmt: skip
EXPERIMENTS = ["map_shape", "permutation:times=4", "route", "pointing:sizes=[1]", "top_word", "exclusive"]


def command(*words: object) -> Result:
    return CliRunner().invoke(root, [str(w) for w in words])


@pytest.fixture(scope="module")
def texts_csv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "texts.csv"
    lines = [f'"{text}",{"01"["fine" in text or "wonder" in text or "superb" in text]}' for text in TEXTS * 2]
    path.write_text("text,label\n" + "\n".join(lines) + "\n", "utf-8")
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, texts_csv: Path, place: Path) -> Path:
    folder = tmp_path_factory.mktemp("run") / "run"
    audit(f"{place}/mine.py:make", str(texts_csv), out=folder, profile="quick", experiments=EXPERIMENTS, keep=2,
          explainers=["attention", "leave_one_out", "random"], metrics=["comprehensiveness"])  # fmt: skip
    return folder


@pytest.mark.parametrize("form", ["html", "md", "json"])
def test_every_form_is_written(run: Path, tmp_path: Path, form: str) -> None:
    out = tmp_path / f"r.{form}"
    done = command("report", run, "--format", form, "--out", out)
    assert done.exit_code == 0, done.output
    text = out.read_text("utf-8")
    assert "comprehensiveness" in text
    if form == "json":
        assert json.loads(text)["exhibits"]["reliance"]["unit"] == "word"
    else:
        assert "A very different map, the same answer" in text
        assert any(word in text for word in RARE)


def test_a_browser_prints_it(run: Path, tmp_path: Path, browser: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_BROWSER", browser)
    out = tmp_path / "r.pdf"
    done = command("report", run, "--format", "pdf", "--out", out)
    assert done.exit_code == 0, done.output
    assert out.read_bytes().startswith(b"%PDF")
    assert 1 <= printing.page_count(out.read_bytes()) <= printing.MOST_PAGES


def test_appendix_is_for_paper_only(run: Path, tmp_path: Path) -> None:
    done = command("report", run, "--appendix", "--out", tmp_path / "r.html")
    assert done.exit_code == 2
    assert not (tmp_path / "r.html").exists()


def test_chinese_report_without_a_font_warns(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for font in (False, True, None):
        monkeypatch.setattr("regard.present.report.fonts.cjk_font", lambda font=font: font)
        done = command("report", run, "--lang", "zh", "--out", tmp_path / "zh.html")
        assert ("fonts-noto-cjk" in done.output) == (font is False)


def test_without_a_browser_it_says_what_to_do(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printing, "browser", lambda: None)
    monkeypatch.setattr(printing, "find_spec", lambda name: None)
    done = command("report", run, "--format", "pdf", "--out", tmp_path / "r.pdf")
    assert done.exit_code == EnvironmentProblem.exit_code
    assert "regard[pdf]" in done.output
    assert not (tmp_path / "r.pdf").exists()


def test_a_browser_that_fails_is_named(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho no display >&2\n")
    broken.chmod(0o755)
    monkeypatch.setenv("REGARD_BROWSER", str(broken))
    done = command("report", run, "--format", "pdf", "--out", tmp_path / "r.pdf")
    assert done.exit_code == EnvironmentProblem.exit_code
    assert "no display" in done.output


@pytest.mark.parametrize("by", ["option", "environment"])
def test_everything_follows_the_language(run: Path, tmp_path: Path, by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["--lang", "zh"] if by == "option" else []
    if by == "environment":
        monkeypatch.setenv("REGARD_LANG", "zh")
    out = tmp_path / "zh.html"
    done = command("report", run, "--out", out, *words)
    assert "报告" in done.output
    assert "换一种注意力，预测不变" in out.read_text("utf-8")
    told = command("verdicts", run, *words).output
    assert "结论" in told
    assert "有没有可读的图" in told
    monkeypatch.delenv("REGARD_LANG", raising=False)
    assert "VERDICT" in command("verdicts", run).output, "and the next command speaks English again"


def test_an_unknown_language_is_refused(run: Path) -> None:
    done = command("report", run, "--lang", "xx")
    assert done.exit_code == 2
    assert "en" in done.output


def test_redaction_leaves_no_word(run: Path, tmp_path: Path) -> None:
    for form in ("html", "md", "json"):
        out = tmp_path / f"r.{form}"
        assert command("report", run, "--redact", "--format", form, "--out", out).exit_code == 0
        assert found_in(out.read_bytes()) == []
    assert command("report", run, "--redact").exit_code == 0
    assert (run / "report-redacted.html").exists(), "the report with the words is not overwritten"


def found_in(raw: bytes) -> list[str]:
    return [word for word in RARE if re.search(word.encode(), raw, re.IGNORECASE)]


def files_of(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def test_without_text_no_word_is_in_the_run_directory(tmp_path: Path, texts_csv: Path, place: Path, run: Path) -> None:
    out = tmp_path / "without"
    done = command(
        "audit", f"{place}/mine.py:make", "--data", texts_csv, "--out", out, "--profile", "quick", "--keep", 2,
        "--no-text",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert command("report", out, "--format", "json").exit_code == 0
    assert any(found_in(path.read_bytes()) for path in files_of(run)), "the test can fail"
    assert [(path.name, found) for path in files_of(out) if (found := found_in(path.read_bytes()))] == []
    first, hidden = Run(run).examples()[0], Run(out).examples()[0]
    assert hidden["inputs"] == {}
    assert all(re.fullmatch(r"w\d+|\W", name) for name in hidden["units"]["names"])
    assert len(hidden["units"]["names"]) == len(first["units"]["names"])
    assert first["probability"] == hidden["probability"], "the numbers are the same"
    assert Run(run).relevance("leave_one_out").values.tolist() == Run(out).relevance("leave_one_out").values.tolist()
