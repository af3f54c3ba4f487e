"""One command line, run in this process like `regard`, and the rule that judges its end."""

from __future__ import annotations

import io
import os
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Kind = Literal[
    "ok",
    "clear error",
    "traceback",
    "internal error",
    "hang",
    "wrong exit code",
    "crash",
    "code executed",
    "wrong result",
    "control characters",
]
GOOD: tuple[Kind, ...] = ("ok", "clear error")
INPUT_CODES = frozenset({0, 2, 3})
"""How a command may end whose input is hostile: it worked, it refused, or it could not decide."""
_where: list[str] = []
"""The last place in regard of an error that came as far as the entry point."""
_RAW = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What may never reach a terminal as it is: control characters and the overrides of writing direction."""


@dataclass(frozen=True)
class Said:
    """Output and exit code of a command. code None: it raised an exception, with which `err` ends."""

    code: int | None
    out: str
    err: str


@dataclass(frozen=True)
class Outcome:
    """Outcome of one case. detail: the line that distinguishes failures by cause."""

    kind: Kind
    detail: str = ""
    codes: tuple[int | None, ...] = field(default=())

    @property
    def good(self) -> bool:
        return self.kind in GOOD


def call(words: Sequence[str], folder: Path) -> Said:
    """Run a command line in `folder`, like the entry point of the program."""
    from regard.cli.root import root

    out, err = io.BytesIO(), io.BytesIO()
    _where.clear()
    with _inside(folder, out, err):
        code: int | None = None
        try:
            root.main(list(words), prog_name="regard")
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        except BaseException:  # whatever came out of it is a finding
            sys.stderr.write(traceback.format_exc())
        try:
            sys.stdout.flush()
        except ValueError:
            sys.stderr.write(traceback.format_exc())
        sys.stderr.flush()
    return Said(code, out.getvalue().decode("utf-8", "replace"), err.getvalue().decode("utf-8", "replace"))


@contextmanager
def _inside(folder: Path, out: io.BytesIO, err: io.BytesIO) -> Iterator[None]:
    """Give the command its own working directory and streams; unencodable output fails as it would there."""
    before, streams = os.getcwd(), (sys.stdin, sys.stdout, sys.stderr)
    os.chdir(folder)
    sys.stdin = io.TextIOWrapper(io.BytesIO(), "utf-8")
    sys.stdout = io.TextIOWrapper(out, "utf-8", "strict", write_through=True)
    sys.stderr = io.TextIOWrapper(err, "utf-8", "backslashreplace", write_through=True)
    try:
        yield
    finally:
        written, (sys.stdin, sys.stdout, sys.stderr) = (sys.stdout, sys.stderr), streams
        for stream in written:
            if isinstance(stream, io.TextIOWrapper):
                stream.detach()  # else its end would close the bytes below it
        os.chdir(before)


def watch_errors() -> None:
    """Store the origin of an error: the user's error line omits it, and failures are grouped by it."""
    from regard.cli import root

    tell = getattr(root, "_tell", None)
    if tell is None or getattr(tell, "watched", False):
        return

    def told(error: BaseException, *rest: Any, **options: Any) -> Any:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if "/regard/" in f.filename]
        _where[:] = [f"{frame.filename.rpartition('/regard/')[2]}:{frame.lineno}" for frame in frames[-1:]]
        return tell(error, *rest, **options)

    setattr(told, "watched", True)  # noqa: B010
    setattr(root, "_tell", told)  # noqa: B010


def judged(said: Said, codes: frozenset[int] = INPUT_CODES, *, silent: bool = False) -> Outcome:
    """Judge an outcome. codes: permitted exit codes. silent: an error may be printed on standard output (gate)."""
    last = _last_line(said.err)
    if said.code is None or "Traceback (most recent call last)" in said.err:
        return Outcome("traceback", last, (said.code,))
    if "internal error" in said.err or "内部错误" in said.err or "regard: this machine: " in said.err:
        return Outcome("internal error", f"{last} @ {''.join(_where)}", (said.code,))
    if said.code not in codes:
        return Outcome("wrong exit code", f"{said.code}: {last}", (said.code,))
    if said.code and not silent and "regard: " not in said.err:
        return Outcome("wrong exit code", f"{said.code} without a word", (said.code,))
    raw = _RAW.search(said.out) or _RAW.search(said.err)
    if raw is not None:
        return Outcome("control characters", f"{raw[0]!r} in {_around(said, raw[0])!r}", (said.code,))
    return Outcome("clear error" if said.code else "ok", last if said.code else "", (said.code,))


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""


def _around(said: Said, character: str) -> str:
    text = said.out if character in said.out else said.err
    at = text.index(character)
    return text[max(0, at - 40) : at + 40]
