"""Consoles: results go to standard output, remarks and progress to standard error."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import click

from regard.visible import visible

if TYPE_CHECKING:
    from rich.console import Console

    from regard.records import Text


def results() -> Console:
    """Return the console on standard output; rich drops colours for NO_COLOR and non-terminals."""
    from regard.cli.safe_console import SafeConsole

    console = SafeConsole()
    # a pipe has no width of its own; 80 columns would fold tables that nobody looks at in a terminal
    if console.is_terminal or os.environ.get("COLUMNS", "").isdecimal():
        return console
    return SafeConsole(width=max(console.width, 120))


def remarks() -> Console:
    """Return the console on standard error; `--quiet` silences it."""
    from regard.cli.safe_console import SafeConsole

    return SafeConsole(stderr=True, quiet=verbosity() == "quiet")


def verbosity() -> Literal["quiet", "normal", "verbose"]:
    """Return the verbosity: `--quiet`, `--verbose` or neither."""
    context = click.get_current_context(silent=True)
    for name in ("quiet", "verbose") if context is not None else ():
        if context is not None and context.meta.get(f"regard.{name}"):
            return "quiet" if name == "quiet" else "verbose"
    return "normal"


def print_json(value: Any) -> None:
    """Print JSON on standard output; non-finite numbers become null.

    Control characters are escaped as JSON, so programs lose nothing.
    """
    from regard.present.messages.messages import rendered

    text = json.dumps(clean(rendered(value)), indent=2, ensure_ascii=False, allow_nan=False)
    click.echo(re.sub(r"[^\n\x20-\x7e]", lambda match: _json_escape(match[0]), text))


def _json_escape(character: str) -> str:
    return character if visible(character) == character else json.dumps(character)[1:-1]


def echo(text: str, *, error: bool = False) -> None:
    """Print one line of plain text without control characters."""
    click.echo(visible(text), err=error)


def print_notes(notes: Sequence[Text]) -> None:
    """Print notes about the data (guessed columns, windowed texts) below a result."""
    from regard.present.messages.messages import render, say

    for note in notes:
        results().print(say("term.note", text=render(note)), markup=False, style="dim")


def warn_without_font() -> None:
    """Warn on standard error if a report in Chinese would show boxes here."""
    from regard.present.messages.messages import language, say
    from regard.present.report.fonts import CJK_PACKAGE, cjk_font

    if language().startswith("zh") and cjk_font() is False:
        remarks().print(say("term.no_cjk_font", package=CJK_PACKAGE), markup=False, style="yellow")


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
