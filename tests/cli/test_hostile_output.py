"""Nothing that data, a model or a run brings reaches the terminal as a command to it."""

from __future__ import annotations

import json
import re
import shlex
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text

from regard.cli import console
from regard.cli.root import root
from regard.cli.safe_console import SafeConsole
from regard.present.report.as_markdown import plain_markdown
from regard.present.report.sections.exhibits import code_lines
from regard.visible import shell_word, visible

ESCAPES = [
    "\x1b[2J", "\x1b]0;title\x07", "\x1b]52;c;cm0=\x07", "\x1b]8;;http://evil\x1b\\link", "\x9b31m", "\x07", "\x08\x08",
    "\r overwritten", "\u202eexe.txt", "\u2066hidden\u2069", "\x00", "\x7f", "\u2028", "\x85", "\ud800",
]  # fmt: skip
UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
COLOUR = re.compile(r"\x1b\[[\d;]*m")


def printed(*things: object, width: int = 100) -> str:
    out = StringIO()
    shown = SafeConsole(width=width)
    shown.file = out
    for thing in things:
        shown.print(thing)
    return out.getvalue()


@pytest.mark.parametrize("text", ESCAPES)
def test_escapes_are_shown_and_not_sent(text: str) -> None:
    table = Table(title=text)
    table.add_column(text)
    table.add_row(text)
    table.add_row(Text(text, style="bold"))
    sent = COLOUR.sub("", printed(text, Text(text), table, [text], {"key": text}))
    assert not UNSAFE.search(sent.replace("\n", "").replace("\t", ""))


def test_columns_stay_aligned_where_a_cell_was_changed() -> None:
    table = Table()
    table.add_column("name")
    table.add_column("n")
    table.add_row("a\x1b[31mb", "1")
    table.add_row("plain", "2")
    lines = [line for line in printed(table).splitlines() if line]
    assert len({len(line) for line in lines}) == 1


def test_brackets_in_names_are_text() -> None:
    assert "[link=file:///etc]x[/link]" in printed("[link=file:///etc]x[/link]")


@given(st.text())
def test_what_is_visible_is_safe_and_stays_as_it_is(text: str) -> None:
    shown = visible(text)
    assert not UNSAFE.search(shown.replace("\n", "").replace("\t", ""))
    assert visible(shown) == shown
    shown.encode("utf-8")


@given(st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs", "Zl", "Zp"])))
def test_ordinary_text_is_not_changed(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize("text", ESCAPES[:-1])
def test_json_is_safe_and_loses_nothing(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    console.print_json({"text": text, "plain": "中文"})
    out = capsys.readouterr().out
    assert not UNSAFE.search(out.replace("\n", ""))
    assert json.loads(out) == {"text": text, "plain": "中文"}
    assert "中文" in out


@pytest.mark.parametrize("text", ESCAPES)
def test_errors_are_one_safe_line(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    name = text.replace("\x00", "\x01").replace("\ud800", "\x01")
    with pytest.raises(SystemExit):
        root.main(["explain", f"no{name}model", "--text", "a film"])
    said = capsys.readouterr().err
    assert said.startswith("regard: ")
    assert said.count("\n") == 1
    assert not UNSAFE.search(said.replace("\n", ""))


@pytest.mark.parametrize("text", ESCAPES)
def test_markdown_is_safe(text: str) -> None:
    assert not UNSAFE.search(plain_markdown(text))


@given(st.text())
def test_a_word_to_copy_is_one_word_for_a_shell(text: str) -> None:
    assert shlex.split(f"regard audit {shell_word(text)}") == ["regard", "audit", *shlex.split(shell_word(text))]
    assert len(shlex.split(shell_word(text))) == 1


def test_commands_of_the_report_are_quoted() -> None:
    source, data = 'm"); __import__("os").system("x', "d; rm -rf $HOME `x`.csv"
    manifest = {"model": {"name": source, "source": source}, "data": {"name": data, "source": data}}
    shell, python = code_lines(manifest, "attention", spans=False)
    assert shlex.split(shell) == ["regard", "explain", source, "--data", data, "--row", "0", "--method", "attention"]
    names = compile(python, "report", "eval").co_names
    assert set(names) <= {"regard", "explain", "list", "read"}


def test_a_run_of_hostile_data_prints_no_escape(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"good film {text} bad" for text in ESCAPES[:9]]
    data = tmp_path / "d\x1b[2J.jsonl"
    data.write_text("".join(json.dumps({"text": row, "label": i % 2}) + "\n" for i, row in enumerate(rows)), "utf-8")
    for words in (
        ["explain", "bilstm", "--data", str(data), "--row", "0"],
        ["perturb", str(data), "--noise", "keyboard"],
    ):
        with pytest.raises(SystemExit):
            root.main(words)
    out, err = capsys.readouterr()
    assert not UNSAFE.search(COLOUR.sub("", out + err).replace("\n", "").replace("\t", ""))
    assert "film" in out
