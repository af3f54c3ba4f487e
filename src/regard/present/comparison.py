"""Several methods on one input, side by side: units down, methods across, and how far the methods agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from regard.measures.agreement import kendall, null_sd
from regard.present.palette import level, side
from regard.present.terminal import style
from regard.records import Floats


def comparison(example: Mapping[str, Any], columns: Mapping[str, tuple[Floats, bool]]) -> RenderableType:
    """A row for each unit that is not special, a column for each method: `columns[method]` is (values, signed).

    Colours are relative to the largest value of each method, numbers are as the method gives them.
    """
    units = example["units"]
    free = [i for i in range(len(units["names"])) if not units["special"][i]]
    table = Table(box=None, pad_edge=False)
    table.add_column(Text(units["kind"], style="dim"), overflow="fold", max_width=24)
    for method in columns:
        table.add_column(Text(method, style="dim"), justify="right", overflow="fold")
    largest = {m: float(np.max(np.abs(values[free]), initial=0.0)) for m, (values, _) in columns.items()}
    for i in free:
        cells = [Text(str(units["names"][i]).strip() or "(blank)")]
        for method, (values, signed) in columns.items():
            look = style(level(values[i], largest[method]), side(values[i], signed=signed))
            cells.append(Text(f" {values[i]:+.3f} " if signed else f" {values[i]:.3f} ", style=look))
        table.add_row(*cells)
    return table


def agreements(example: Mapping[str, Any], columns: Mapping[str, tuple[Floats, bool]]) -> list[dict[str, Any]]:
    """Kendall's tau of every pair of methods over this input's units, with its spread under chance.

    Where one of the two has no direction, sizes are compared.
    """
    units = example["units"]
    free = np.array([not special for special in units["special"]])
    names, found = list(columns), []
    for a in range(len(names)):
        for b in range(a + 1, len(names)):
            x, y = (columns[names[c]][0][free] for c in (a, b))
            directed = columns[names[a]][1] and columns[names[b]][1]
            tau = float(kendall(x, y) if directed else kendall(np.abs(x), np.abs(y)))
            found.append({
                "a": names[a], "b": names[b], "tau": None if np.isnan(tau) else tau, "units": int(free.sum()),
                "null_sd": float(null_sd(int(free.sum()))) if free.sum() > 1 else None,
            })  # fmt: skip
    return found


def agreement_table(pairs: Sequence[Mapping[str, Any]]) -> RenderableType:
    """The pairs from the most to the least agreeing; what chance gives stands beside."""
    if not pairs:
        return Text("")
    table = Table(title="do they rank the units alike?", title_justify="left", title_style="bold", box=None,
                  pad_edge=False)  # fmt: skip
    for name, justify in (("methods", "left"), ("Kendall tau", "right"), ("by chance", "right")):
        table.add_column(Text(name, style="dim"), justify=justify)  # type: ignore[arg-type]
    for pair in sorted(pairs, key=lambda p: -(p["tau"] if p["tau"] is not None else -2.0)):
        tau = "constant" if pair["tau"] is None else f"{pair['tau']:+.2f}"
        spread = "" if pair["null_sd"] is None else f"0 ± {pair['null_sd']:.2f}"
        table.add_row(Text(f"{pair['a']} and {pair['b']}"), tau, spread)
    note = f"n = {pairs[0]['units']} units of one input; the spread is one standard deviation of unrelated rankings."
    note += "\nSizes are compared where a method gives no direction."
    return Group(table, Text(note, style="dim"))
