"""Disks that are full or read-only, and signals: one line, the documented exit code, no half files."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import sqlite3
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from regard.cli.signals import stopping
from regard.store.ledger import FILE

Call = Callable[..., Result]
_SEALED: list[Path] = []
"""Directories that nothing may be written into."""


def _refuse(event: str, values: tuple[Any, ...]) -> None:
    """An audit hook: what a read-only file system would answer. Permission bits say nothing to root."""
    if not _SEALED or event not in ("open", "os.mkdir", "os.rename", "os.remove", "sqlite3.connect"):
        return
    place = str(values[0])
    if not any(str(sealed) in place for sealed in _SEALED):
        return
    if event == "sqlite3.connect":
        if "mode=ro" not in place:
            error = sqlite3.OperationalError("attempt to write a readonly database")
            error.sqlite_errorname = "SQLITE_READONLY"
            raise error
    elif event != "open" or values[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), place)


@pytest.fixture(scope="session")
def _hook() -> None:
    sys.addaudithook(_refuse)


@pytest.fixture
def sealed(audited: tuple[Path, Result], tmp_path: Path, _hook: None) -> Iterator[Path]:
    """A copy of a run in a directory that is read-only."""
    run = Path(shutil.copytree(audited[0], tmp_path / "sealed"))
    _SEALED.append(run)
    yield run
    _SEALED.clear()


READING = (
    "report RUN --out OUT/report.html", "report RUN --format md --out OUT/report.md", "metrics RUN", "verdicts RUN",
    "experiments RUN", "export RUN --out OUT/tables", "view RUN --html OUT/view.html",
)  # fmt: skip


@pytest.mark.parametrize("words", READING)
def test_a_read_only_run_is_read(words: str, sealed: Path, tmp_path: Path, regard: Call) -> None:
    before = {p: p.stat().st_mtime_ns for p in sealed.rglob("*")}
    result = regard(*words.replace("RUN", str(sealed)).replace("OUT", str(tmp_path)).split())
    assert result.exit_code == 0, result.output
    assert {p: p.stat().st_mtime_ns for p in sealed.rglob("*")} == before


def test_a_report_of_a_read_only_run_is_judged_by_the_rules_of_today(
    sealed: Path, tmp_path: Path, regard: Call
) -> None:
    _SEALED.clear()
    book = sqlite3.connect(sealed / FILE)
    with book:
        book.execute("DELETE FROM fact WHERE name = 'judgements'")
    book.close()
    _SEALED.append(sealed)
    result = regard("report", str(sealed), "--format", "json", "--out", str(tmp_path / "report.json"))
    assert result.exit_code == 0, result.output
    assert json.loads((tmp_path / "report.json").read_text("utf-8"))["verdicts"]


@pytest.mark.parametrize("words", ["report RUN", "export RUN"])
def test_writing_into_a_read_only_run_is_an_environment_problem(words: str, sealed: Path, regard: Call) -> None:
    result = regard(*words.replace("RUN", str(sealed)).split())
    assert result.exit_code == 4
    assert "a writable directory" in result.stderr
    assert result.stderr.count("\n") == 1


WRITING = (
    "report RUN --out OUT/report.html", "report RUN --format md --out OUT/report.md",
    "report RUN --format json --out OUT/report.json", "export RUN --out OUT/tables", "view RUN --html OUT/view.html",
    "perturb good.csv --noise keyboard --out OUT/noisy.jsonl", "train classifier --data good.csv --out OUT/trained",
    "attack mine.py:make --data good.csv --attack greedy_char --n 2 --no-sanity --out OUT/attacked",
    "gate RUN --policy OUT/policy.toml --junit OUT/gate.xml", "audit mine.py:make --data good.csv --out OUT/run",
    "new explainer my_method --out OUT",
)  # fmt: skip


@pytest.mark.parametrize("words", WRITING, ids=[w.split(" --")[0] + " " + w.split("/")[-1] for w in WRITING])
def test_a_full_disk_is_one_line_and_leaves_no_half_file(
    words: str, audited: tuple[Path, Result], place: Path, tmp_path: Path, regard: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "policy.toml").write_text('[[gate]]\nmetric = "entropy"\nmethod = "attention"\nmin = 0\n', "utf-8")
    run = shutil.copytree(audited[0], tmp_path / "run")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    result = regard(*words.replace("RUN", str(run)).replace("OUT", str(out)).split())
    assert result.exit_code == 4, result.output
    told = result.stderr + result.stdout
    assert "expected free disk space; got [Errno 28]" in " ".join(told.split())
    left = {p.name for p in out.rglob("*") if p.is_file()} - {"policy.toml", "lock", FILE, f"{FILE}-wal"}
    assert not {name for name in left if not name.endswith(("-shm", "-journal"))}


def test_a_device_is_written_to_and_not_replaced(audited: tuple[Path, Result], regard: Call) -> None:
    if not Path("/dev/full").is_char_device():
        pytest.skip("hardware: this system has no /dev/full")
    result = regard("report", str(audited[0]), "--format", "md", "--out", "/dev/full")
    assert result.exit_code == 4
    assert Path("/dev/full").is_char_device()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)])
def test_a_signal_ends_a_command_in_one_line_that_says_how_to_go_on(
    number: signal.Signals, code: int, place: Path, tmp_path: Path, regard: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "split.csv"
    rows = ["a fine film,pos", "a dull film,neg"]
    data.write_text("text,label,split\n" + "".join(f"{r},{s}\n" for s in ("train", "dev", "test") for r in rows))

    def stopped(*_: object, **__: object) -> None:
        os.kill(os.getpid(), number)
        while True:
            signal.pause()

    monkeypatch.setattr("regard.training.train.train", stopped)
    before = [signal.getsignal(s) for s in (signal.SIGTERM, signal.SIGHUP)]
    result = regard("train", "classifier", "--data", str(data), "--out", str(tmp_path / "out"))
    assert result.exit_code == code
    last = result.stderr.strip().split("\n")[-1]
    assert last.startswith("regard: interrupted; ")
    assert f"Resume with: regard train classifier --data {data} --out {tmp_path / 'out'}" in last
    assert [signal.getsignal(s) for s in (signal.SIGTERM, signal.SIGHUP)] == before


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        with stopping() as stop:
            os.kill(os.getpid(), signal.SIGHUP)
        assert stop.signal is None
    finally:
        signal.signal(signal.SIGHUP, before)
