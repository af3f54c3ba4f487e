"""A case: files in its own folder, then command lines or requests, and their permitted exit codes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from benchmarks.fuzz.materials import Materials
from benchmarks.fuzz.outcome import INPUT_CODES, Outcome, Said

CANARY = "CANARY"
"""The file that hostile code would write; nothing that is shared may ever do it."""


@dataclass(frozen=True)
class Case:
    """commands: run one after the other in the folder of the case. codes: their permitted exit codes.

    silent: an error may be printed on standard output alone. check: a sentence about a wrong result, or "".
    environment: variables while it runs. largest_file: bytes that a file may have, as on a disk that is full. play: any
    other work, instead of commands.
    """

    commands: Sequence[Sequence[str]] = ()
    codes: frozenset[int] = INPUT_CODES
    silent: bool = False
    check: Callable[[Sequence[Said]], str] | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    largest_file: int | None = None
    play: Callable[[], Outcome] | None = None


Maker = Callable[[Random, Materials, Path], Case]
"""Writes the files of one case into the folder; the same generator state makes the same case."""


def generator(seed: int, target: str, number: int) -> Random:
    """Return the random generator of one case, the same on every machine."""
    return Random(f"{seed}/{target}/{number}")


def evil(folder: Path) -> str:
    """Return Python code that writes the canary."""
    return f"open({str(folder / CANARY)!r}, 'w').close()\n"


def evil_module(folder: Path, name: str = "evil.py") -> Path:
    """Return a file that writes the canary on import, and again when anything in it is called."""
    path = folder / name
    code = evil(folder)
    path.write_text(f"{code}\ndef make(*args, **kwargs):\n    {code}\n    raise SystemExit(0)\n", "utf-8")
    return path
