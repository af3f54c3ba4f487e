"""Where things are printed: results on standard output, everything about the work itself on standard error."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console


def results() -> Console:
    """Standard output. rich drops colours by itself for NO_COLOR and where the output is not a terminal."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=False)
    # a pipe has no width of its own; 80 columns would fold tables that nobody looks at in a terminal
    return console if console.is_terminal else Console(highlight=False, width=max(console.width, 120))


def remarks() -> Console:
    """Standard error."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def print_json(value: Any) -> None:
    """JSON on standard output; numbers that JSON does not know become null."""
    click.echo(json.dumps(clean(value), indent=2, ensure_ascii=False, allow_nan=False))


def print_notes(notes: Sequence[str]) -> None:
    """What was done to the data on the way (columns guessed, texts cut into windows), below a result."""
    from regard.present.retelling import retold
    from regard.present.saying import say

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
