"""Where things are printed: results on standard output, everything about the work itself on standard error."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from regard.visible import visible

if TYPE_CHECKING:
    from rich.console import Console


def results() -> Console:
    """Standard output. rich drops colours by itself for NO_COLOR and where the output is not a terminal."""
    from regard.cli.safe_console import SafeConsole

    console = SafeConsole()
    # a pipe has no width of its own; 80 columns would fold tables that nobody looks at in a terminal
    return console if console.is_terminal else SafeConsole(width=max(console.width, 120))


def remarks() -> Console:
    """Standard error."""
    from regard.cli.safe_console import SafeConsole

    return SafeConsole(stderr=True)


def print_json(value: Any) -> None:
    """JSON on standard output; numbers that JSON does not know become null.

    Characters that a terminal would obey are escaped as JSON allows, so that nothing is lost for a program.
    """
    text = json.dumps(clean(value), indent=2, ensure_ascii=False, allow_nan=False)
    click.echo(re.sub(r"[^\n\x20-\x7e]", lambda match: _json_escape(match[0]), text))


def _json_escape(character: str) -> str:
    return character if visible(character) == character else json.dumps(character)[1:-1]


def echo(text: str, *, error: bool = False) -> None:
    """One line of plain text on standard output (or standard error), with nothing in it that a terminal obeys."""
    click.echo(visible(text), err=error)


def print_notes(notes: Sequence[str]) -> None:
    """What was done to the data on the way (columns guessed, texts cut into windows), below a result."""
    from regard.present.messages.messages import say
    from regard.present.retelling import retold

    for note in notes:
        results().print(say("term.note", text=retold(note)), markup=False, style="dim")


def clean(value: Any) -> Any:
    """
    >>> clean({"a": float("nan"), "b": (1, 2)})
    {'a': None, 'b': [1, 2]}
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(k): clean(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [clean(v) for v in value]
    return value
