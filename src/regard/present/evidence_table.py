"""The table of an audit for the terminal: one row per method, every number with its interval."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from regard.present.evidence import Column, Evidence, evidence, main_settings, shown
from regard.present.run_reader import Material

NARROW = 17
"""Characters that a column needs when its interval stands below its estimate."""
ROOM = 27
"""Characters that a column needs when its interval stands beside its estimate."""


def evidence_table(material: Material, *, width: int) -> Table:
    """Methods down, metrics across (two removal operators each); random baseline last; the ceiling marked.

    Where it does not fit in `width`, intervals stand below their estimates; where that does not either, the second
    operator is left to the report.
    """
    found = evidence(material.summaries, material.methods, material.own_operators)
    columns = main_settings(found.columns)
    if width < NARROW * (len(columns) + 1):
        columns = main_settings(found.columns, each=1)
    gap = " " if width >= ROOM * (len(columns) + 1) else "\n"
    table = Table(box=None, pad_edge=False, title_justify="left", caption_justify="left", caption=_caption(found))
    table.add_column(Text("method", style="dim"), no_wrap=True)
    for column in columns:
        table.add_column(_head(column), justify="right")
    for method in found.methods:
        base = found.role(method) == "baseline"
        cells = [_cell(found, method, column, gap=gap) for column in columns]
        name = Text(method + (" (baseline)" if base else ""), style="dim" if base else "")
        table.add_row(name, *cells, style="dim" if base else "")
    return table


def _head(column: Column) -> Text:
    better = {"higher": "higher is better", "lower": "lower is better"}.get(column.better, "")
    lines = [column.title, column.detail, better]
    return Text("\n".join(line for line in lines if line), style="dim", justify="right")


def _cell(found: Evidence, method: str, column: Column, *, gap: str) -> Text:
    summary = found.cells.get((method, column))
    estimate, interval = shown(summary)
    cell = Text(estimate, style="bold" if found.best(column) == method else "", justify="right")
    if summary is None or not summary.n:
        return cell
    cell.append(f"{gap}{interval}", style="not bold")
    if found.judged_by_itself(method, column):
        cell.append(f"{gap}own operator", style="dim not bold")
    if summary.role == "ceiling":
        cell.append(f"{gap}ceiling", style="dim not bold")
    if summary.undefined:
        cell.append(f"{gap}({summary.undefined} undefined)", style="dim not bold")
    return cell


def _caption(found: Evidence) -> str:
    s = next((s for s in found.cells.values() if s.n), None)
    if s is None:
        return "no number could be computed"
    clusters = f" in {s.clusters} clusters" if s.clusters != s.n else ""
    numbers = f"mean [{s.level:.0%} interval], n = {s.n}{clusters}, seed {s.seed}"
    ceiling = "; ceiling: a yardstick, not a limit" if any(c.role == "ceiling" for c in found.cells.values()) else ""
    return f"{numbers}; bold: best estimate, if beyond random's interval (own operator: not compared){ceiling}"
