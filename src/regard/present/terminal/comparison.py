"""Several methods on one input, side by side: units down, methods across, and their agreement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from regard.present.messages.messages import columns, say
from regard.present.palette import level, side
from regard.present.results_table import unit_kind
from regard.present.terminal.terminal import plain_table, style
from regard.records import Floats


def comparison(example: Mapping[str, Any], methods: Mapping[str, tuple[Floats, bool]]) -> RenderableType:
    """A row for each unit that is not special, a column for each method: `methods[method]` is (values, signed).

    Colours are relative to the largest value of each method, numbers are as the method gives them.
    """
    units = example["units"]
    free = [i for i in range(len(units["names"])) if not units["special"][i]]
    table = Table(box=None, pad_edge=False)
    table.add_column(Text(unit_kind(str(units["kind"])), style="dim"), overflow="fold", max_width=24)
    for method in methods:
        table.add_column(Text(method, style="dim"), justify="right", overflow="fold")
    largest = {m: float(np.max(np.abs(values[free]), initial=0.0)) for m, (values, _) in methods.items()}
    for i in free:
        cells = [Text(str(units["names"][i]).strip() or say("term.compare.blank"))]
        for method, (values, signed) in methods.items():
            look = style(level(values[i], largest[method]), side(values[i], signed=signed))
            cells.append(Text(f" {values[i]:+.3f} " if signed else f" {values[i]:.3f} ", style=look))
        table.add_row(*cells)
    return table


def agreement_table(pairs: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Pairs of methods, from the most to the least agreeing, with the chance level."""
    if not pairs:
        return Text("")
    rows = []
    for pair in sorted(pairs, key=lambda p: -(p["tau"] if p["tau"] is not None else -2.0)):
        tau = say("term.compare.constant") if pair["tau"] is None else f"{pair['tau']:+.2f}"
        spread = "" if pair["null_sd"] is None else f"0 ± {pair['null_sd']:.2f}"
        rows.append((say("term.compare.pair", a=pair["a"], b=pair["b"]), tau, spread))
    table = plain_table(columns("term.compare.columns"), rows, title=say("term.compare.title"), right=(1, 2))
    return Group(table, Text(say("term.compare.note", n=pairs[0]["units"]), style="dim"))
