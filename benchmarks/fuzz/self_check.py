"""Cases that must fail: the judge of the other cases has to notice each of them. Not part of a campaign."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

from benchmarks.fuzz.case import evil_module
from benchmarks.fuzz.outcome import Outcome, Said, judged


def _burns() -> Outcome:
    while True:
        pass


def _sleeps() -> Outcome:
    threading.Event().wait()
    return Outcome("ok")


def _dies() -> Outcome:
    os.abort()


def _said(code: int | None, err: str, out: str = "") -> Callable[[], Outcome]:
    return lambda: judged(Said(code, out, err))


def _executes(folder: Path) -> Outcome:
    exec(compile(evil_module(folder).read_text("utf-8"), "evil.py", "exec"), {})
    return Outcome("ok")


def expected(folder: Path) -> list[tuple[str, Callable[[], Outcome]]]:
    """Expected kind of each case."""
    internal = "regard: internal error (a bug, please report): KeyError: 'x'"
    return [
        ("traceback", _said(None, "Traceback (most recent call last):\nKeyError: 'x'")),
        ("internal error", _said(4, internal)),
        ("internal error", _said(4, "regard: this machine: OSError: x. Try: the same command with --debug")),
        ("wrong exit code", _said(1, "regard: no gate was asked")),
        ("wrong exit code", _said(2, "")),
        ("control characters", _said(0, "", "a \x1b[31mred film")),
        ("control characters", _said(2, "regard: a \u202e override")),
        ("code executed", lambda: _executes(folder)),
        ("clear error", _said(2, "regard: file x: expected TOML; got nothing")),
        ("ok", _said(0, "")),
        ("hang", _burns),
        ("hang", _sleeps),
        ("crash", _dies),
    ]
