"""Whatever is wrong: one line that says what, the right exit code, and no traceback."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from regard.errors import EXIT_CODES, GateFailed, Incomplete
from regard.registry import names

BAD = {
    "empty text": ("explain mine.py:make --text ''", 2, "at least one word"),
    "only blanks": ("capture mine.py:make --text '   '", 2, "at least one word"),
    "only special tokens": ("explain mine.py:make --text 'special special'", 2, "only special tokens"),
    "too long, by choice an error": (f"explain mine.py:strict --text '{'word ' * 40}'", 2, "at most 24 tokens"),
    "NaN weights": ("explain mine.py:broken --text 'a film'", 2, "nan"),
    "a label outside the model's": ("audit mine.py:make --data odd_label.csv --out o", 2, "'maybe'"),
    "labels that are no table": ("audit mine.py:make --data good.csv --labels pos --out o", 2, "name=index"),
    "a class that is not there": ("audit mine.py:make --data good.csv --labels neg=0,pos=7 --out o", 2, "pos=7"),
    "a missing column": ("audit mine.py:make --data good.csv --text-column txt --out o", 2, "txt"),
    "an unreadable file": ("audit mine.py:make --data broken.parquet --out o", 2, "broken.parquet"),
    "a binary csv": ("audit mine.py:make --data binary.csv --out o", 2, "binary.csv"),
    "no such data": ("audit mine.py:make --data nosuch.csv --out o", 2, "nosuch.csv"),
    "neither a model nor data": ("audit ./nomodel --data nosuch.csv --out o", 2, "nomodel"),
    "no data for this model": ("audit mine.py:make --out o", 2, "--data"),
    "an empty directory": ("explain empty --text hello", 2, "empty"),
    "a directory that is no model": ("explain not_a_model --text hello", 2, "not_a_model"),
    "a model without its tokenizer": ("explain no_tokenizer --text hello", 2, "tokenizer"),
    "a file that is no model": ("explain a_file --text hello", 2, "a_file"),
    "a factory that is not there": ("explain mine.py:mak --text hello", 2, "make"),
    "no such model": ("audit nosuch", 2, "nosuch"),
    "an unknown explainer": ("explain mine.py:make --text hello --method rolout", 2, "Try: rollout"),
    "an unknown metric": ("audit --metrics comprehensivness", 2, "Try: comprehensiveness"),
    "an unknown parameter": ("audit --explainers rollout:residul=1", 2, "Try: residual"),
    "an unknown profile": ("audit --profile fast", 2, "'fast'"),
    "an unknown kind": ("list explainrs", 2, "Try: explainer"),
    "an unknown command": ("audti", 2, "Try: regard audit"),
    "an unknown option": ("audit --sed 1", 2, "--sed"),
    "a number that is none": ("audit --seed one", 2, "one"),
    "an impossible number": ("audit --limit 0", 2, "limit"),
    "a missing argument": ("explain", 2, "MODEL"),
    "neither text nor data": ("explain mine.py:make", 2, "--text"),
    "text and data": ("explain mine.py:make --text a --data good.csv", 2, "one of them"),
    "a row that is not there": ("explain mine.py:make --data good.csv --row 99", 2, "0 to 5"),
    "two models": ("audit bilstm --model minilm", 2, "one model"),
    "a site that is not there": ("capture mine.py:make --text 'a b' --site nowhere", 2, "nowhere"),
    "a head that is not there": ("capture mine.py:make --text 'a b' --head 4", 2, "--head 4"),
    "a model without attention": ("capture mine.py:without_attention --text 'a b'", 2, "attention"),
    "an unknown device": ("explain mine.py:make --text a --device tpu", 2, "device"),
    "a device that is not there": ("doctor --device cuda", 4, "cuda"),
    "out is a file": ("audit mine.py:make --data good.csv --out a_file", 2, "a_file"),
    "out is somebody's directory": ("audit mine.py:make --data good.csv --out not_a_model", 2, "not_a_model"),
    "no run": ("report empty", 2, "empty"),
    "no run to export": ("export nowhere", 2, "nowhere"),
    "a name that is none": ("new explainer 2fast", 2, "2fast"),
    "a kind that cannot be begun": ("new dataset mine", 2, "dataset"),
    "the user's own bug": ("explain mine.py:crashing --text a", 4, "error in"),
}  # fmt: skip


def one_line(result: Result) -> str:
    """The last line on standard error; remarks about the work may stand before it."""
    lines = result.stderr.strip().splitlines()
    assert lines[-1].startswith("regard: ")
    assert sum(line.startswith("regard: ") for line in lines) == 1
    assert "Traceback" not in result.output
    return lines[-1]


@pytest.mark.parametrize(("words", "code", "says"), BAD.values(), ids=BAD.keys())
def test_bad_input(words: str, code: int, says: str, regard: Callable[..., Result]) -> None:
    import torch

    if "cuda" in words and torch.cuda.is_available():
        pytest.skip("hardware: this machine has a GPU")
    result = regard(*shlex.split(words))
    assert says.lower() in one_line(result).lower()
    assert result.exit_code == code
    assert result.stdout == ""


def test_a_poison_example_is_reported_and_the_rest_goes_on(regard: Callable[..., Result], tmp_path: Path) -> None:
    words = f"audit mine.py:make --data poison.csv --profile quick --out {tmp_path / 'run'} --json"
    result = regard(*words.split())
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert ["only special tokens" in problem["message"] for problem in found["problems"]] == [True]
    whole = [s for s in found["summaries"] if s["metric"] == "comprehensiveness" and "class" not in s["where"]]
    assert {s["n"] for s in whole} == {2}


def test_a_run_in_which_nothing_works_is_incomplete(regard: Callable[..., Result], tmp_path: Path) -> None:
    words = f"audit mine.py:make --data only_poison.csv --profile quick --out {tmp_path / 'run'}"
    result = regard(*words.split())
    assert result.exit_code == 3
    assert "only special tokens" in one_line(result)


def test_bad_rows_are_named_or_left_out(regard: Callable[..., Result], tmp_path: Path) -> None:
    words = f"audit mine.py:make --data empty_text.csv --profile quick --out {tmp_path / 'run'} --json"
    refused = regard(*words.split())
    assert refused.exit_code == 2
    assert "line 3" in one_line(refused)
    assert "--skip-bad" in one_line(refused)
    left_out = regard(*words.split(), "--skip-bad")
    assert left_out.exit_code == 0, left_out.stderr
    assert json.loads(left_out.stdout)["manifest"]["data"]["n"] == 2


ERRORS = [
    (GateFailed("gate"), 1),
    (Incomplete("run"), 3),
    (KeyboardInterrupt(), 130),
    (RuntimeError("boom"), 4),
    (MemoryError("much"), 4),
]


@pytest.mark.parametrize(("error", "code"), ERRORS)
def test_exit_codes_of_errors_inside(
    error: BaseException, code: int, regard: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(kind: str) -> list[str]:
        raise error

    monkeypatch.setattr("regard.registry.names", fail)
    result = regard("list", "explainer")
    assert result.exit_code == code
    assert code in EXIT_CODES
    one_line(result)


def test_a_bug_of_ours_is_called_one(
    regard: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, place: Path
) -> None:
    monkeypatch.setattr("regard.registry.names", lambda kind: 1 if kind == "explainer" else [])
    result = regard("list", "explainer")
    assert result.exit_code == 4
    assert "internal error (a bug, please report): TypeError" in one_line(result)
    assert "--debug" in one_line(result)
    monkeypatch.undo()
    own = regard("explain", f"{place}/mine.py:crashing", "--text", "a")
    assert "mine.py, line" in one_line(own)
    assert "please report" not in own.stderr


def test_an_explainer_asked_for_that_fails_everywhere_leaves_the_run_incomplete(
    regard: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from regard.registry import explainer

    @explainer(needs=("attention",))
    def rollout(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a bug in a method")

    monkeypatch.setattr("regard.explainers.rollout.rollout", rollout)
    words = f"audit mine.py:make --data good.csv --profile quick --metrics comprehensiveness --out {tmp_path / 'run'}"
    result = regard(*words.split(), "--explainers", "attention,rollout,random")
    assert result.exit_code == 3, result.stderr
    assert "rollout failed on every example" in one_line(result)
    assert "attention" in result.stdout
    assert (tmp_path / "run" / "report.html").is_file()
    usual = regard(*words.replace("/run", "/usual").split())
    assert usual.exit_code == 0, usual.stderr


def test_debug_shows_the_traceback(regard: Callable[..., Result]) -> None:
    result = regard("explain", "mine.py:crashing", "--text", "a", "--debug")
    assert isinstance(result.exception, ZeroDivisionError)
    assert names("explainer")


def test_an_interrupted_audit_says_how_to_go_on(
    regard: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("regard.audits.audit._run_stages", interrupted)
    words = f"audit mine.py:make --data good.csv --out {tmp_path / 'run'} --profile quick".split()
    result = regard(*words)
    assert result.exit_code == 130
    said = one_line(result)
    assert f"Resume with: regard {' '.join(words)}" in said
    monkeypatch.undo()


def test_a_long_text_is_never_cut_silently(regard: Callable[..., Result]) -> None:
    text = " ".join(f"word{i}" for i in range(40))
    windows = regard("explain", "mine.py:make", "--text", text)
    assert windows.exit_code == 0, windows.stderr
    assert "overlapping windows" in windows.stdout
    cut = regard("explain", "mine.py:cutting", "--text", text)
    assert cut.exit_code == 0, cut.stderr
    assert "cut" in cut.stdout
    assert "40" in cut.stdout or "16" in cut.stdout
