"""The numbers of `regard audit --every-row` on the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.progress import measure
from regard.present.messages.messages import say

if TYPE_CHECKING:
    from rich.console import Console


def print_every_row(out: Console, folder: Path) -> None:
    """Print the numbers of every row, if the audit covered them all."""
    from regard.audits.every_row import EveryRow

    every_row = EveryRow.read(folder)
    if every_row is None:
        return
    counts = {name: f"{getattr(every_row, name):,}" for name in ("rows", "predicted", "problems")}
    out.print("\n" + say("term.every_row.head", **counts), markup=False)
    for s in every_row.summaries:
        if "class" not in s.where and "slice" not in s.where:
            numbers = {name: f"{getattr(s, name):.4f}" for name in ("estimate", "low", "high")}
            name = measure(s.metric) if s.method == "model" else f"{s.metric}, {s.method}"
            out.print(say("term.every_row.number", name=name, n=f"{s.n:,}", **numbers), markup=False)
