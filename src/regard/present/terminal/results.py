"""The table of an audit for the terminal: one row per method, every number with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from regard.present import counts
from regard.present.messages.messages import say
from regard.present.results_table import Column, Evidence, evidence, main_settings, shown
from regard.present.run_reader import Material
from regard.present.summary import SPOKEN

GAP = 2
"""Characters between two columns."""
MOST_LINES = 80
"""Maximum lines of a list in place of a table; the report has the rest."""


def evidence_table(material: Material, *, width: int, most: int | None = None) -> RenderableType:
    """Methods down, metrics across (two removal operators each); random baseline last; the ceiling marked.

    most: methods to print; attention, a baseline, and the best by the usual metrics stay.

    If it does not fit in `width`, intervals go below their estimates; then the second operator is left to the report,
    then every metric but the usual ones; finally, a block per metric replaces the columns.
    """
    results = evidence(material.summaries, material.methods, material.own_operators)
    results = results if most is None else replace(results, methods=_few_methods(results, most))
    every, first = main_settings(results.columns), main_settings(results.columns, each=1)
    usual = tuple(c for c in every if c.metric in SPOKEN) or every
    few = tuple(c for c in first if c in usual)
    for columns, gap in ((every, " "), (every, "\n"), (first, "\n"), (usual, " "), (usual, "\n"), (few, "\n")):
        if _needed(results, columns, gap) <= width:
            return _table(results, columns, gap, _caption(results, columns, _left_out(columns, every)))
    listed = every if len(every) * len(results.methods) <= MOST_LINES else few
    common = counts.largest(_sizes(results, listed))
    blocks = [_block(results, column, width, common) for column in listed]
    return Group(*blocks, Text(_caption(results, listed, _left_out(listed, every)), style="dim italic"))


def _few_methods(results: Evidence, most: int) -> tuple[str, ...]:
    """Attention, a baseline, then the best by the usual metrics, then the first ones."""
    best = {results.best(c) for c in main_settings(results.columns, each=1) if c.metric in SPOKEN}
    ranked = sorted(results.methods, key=lambda m: (m != "attention", m not in best))
    baselines = [m for m in ranked if results.role(m) == "baseline"]
    methods = [m for m in ranked if m not in baselines]
    room = most - len(baselines[:1])
    return tuple(m for m in results.methods if m in (*methods[:room], *baselines[:1]))


def _sizes(found: Evidence, columns: Sequence[Column]) -> list[counts.Size]:
    return [counts.size(s) for (_, column), s in found.cells.items() if column in columns]


def _left_out(columns: tuple[Column, ...], every: tuple[Column, ...]) -> str:
    if columns == every:
        return ""
    all_metrics = {c.metric for c in columns} == {c.metric for c in every}
    return say("results.table_left_out" if all_metrics else "results.table_usual_only")


def _needed(found: Evidence, columns: tuple[Column, ...], gap: str) -> int:
    """Width of the table if no number and no word is broken."""
    common = counts.largest(_sizes(found, columns))
    widths = [max((len(_name(found, m)) for m in found.methods), default=0)]
    for column in columns:
        lines = [line for m in found.methods for line in _cell(found, m, column, common, gap=gap).plain.split("\n")]
        widths.append(max(map(len, [*_head(column).plain.split(), *lines])))
    return sum(widths) + GAP * len(columns)


def _table(found: Evidence, columns: tuple[Column, ...], gap: str, caption: str) -> Table:
    table = Table(box=None, pad_edge=False, title_justify="left", caption_justify="left", caption=caption)
    table.add_column(Text(say("results.method"), style="dim"), no_wrap=True)
    for column in columns:
        table.add_column(_head(column), justify="right")
    common = counts.largest(_sizes(found, columns))
    for method in found.methods:
        base = found.role(method) == "baseline"
        cells = [_cell(found, method, column, common, gap=gap) for column in columns]
        table.add_row(Text(_name(found, method)), *cells, style="dim" if base else "")
    return table


def _block(found: Evidence, column: Column, width: int, common: counts.Size) -> Text:
    """Lay out one metric: method, estimate and interval on a line, or on two if a line is too short."""
    head = ", ".join(part for part in (column.title, column.detail, _better(column)) if part)
    block = Text.assemble((head, "bold"), "\n")
    cells = {method: _cell(found, method, column, common, gap=" ") for method in found.methods}
    longest = 2 + max(len(_name(found, method)) for method in cells) + GAP
    fits = longest + max(len(cell.plain) for cell in cells.values()) <= width
    for method, cell in cells.items():
        name = f"  {_name(found, method)}"
        block.append(name.ljust(longest) if fits else f"{name}\n    ")
        block.append_text(cell).append("\n")
    return block


def _name(found: Evidence, method: str) -> str:
    return say("results.baseline_name", method=method) if found.role(method) == "baseline" else method


def _head(column: Column) -> Text:
    lines = [column.title, column.detail, _better(column)]
    return Text("\n".join(line for line in lines if line), style="dim", justify="right")


def _better(column: Column) -> str:
    return say(f"results.{column.better}") if column.better in ("higher", "lower") else ""


def _cell(found: Evidence, method: str, column: Column, common: counts.Size, *, gap: str) -> Text:
    summary = found.cells.get((method, column))
    estimate, interval = shown(summary)
    cell = Text(estimate, style="bold" if found.best(column) == method else "", justify="right")
    if summary is None or not summary.n:
        return cell
    cell.append(f"{gap}{interval}", style="not bold")
    if found.judged_by_itself(method, column):
        cell.append(f"{gap}{say('results.own_operator')}", style="dim not bold")
    if summary.role == "ceiling":
        cell.append(f"{gap}{say('results.ceiling')}", style="dim not bold")
    if own := counts.own(counts.size(summary), common):
        cell.append(f"{gap}{own}", style="dim not bold")
    if summary.undefined:
        cell.append(f"{gap}({say('results.n_undefined', n=summary.undefined)})", style="dim not bold")
    return cell


def _caption(found: Evidence, columns: Sequence[Column], left_out: str = "") -> str:
    s = next((s for s in found.cells.values() if s.n), None)
    if s is None:
        return say("results.no_number")
    ceiling = any(c.role == "ceiling" for c in found.cells.values())
    return say(
        "results.table_caption",
        level=f"{s.level:.0%}",
        n=counts.in_caption(_sizes(found, columns)),
        seed=s.seed,
        ceiling=say("results.table_ceiling") if ceiling else "",
        left_out=left_out,
    )
