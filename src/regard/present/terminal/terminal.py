"""Terminal output, readable without colours: numbers stand beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from regard.present.messages.messages import columns, say
from regard.present.palette import AMOUNT, LEVELS, MINUS, PLUS, Colour, level, mixed, side
from regard.present.unit_names import distinct_names
from regard.records import Floats

GROUND: Colour = (110, 110, 110)
"""Weak colours fade to grey, which is unobtrusive on dark and light terminals."""
SHADES = " ░▒▓█"
BAR = 20
"""Columns of the longest bar."""
_COLOURS = {"p": PLUS, "m": MINUS, "a": AMOUNT}


def style(strength: int, direction: str) -> str:
    """Return the rich style of a unit; none for weak units."""
    if strength < 2:
        return ""
    r, g, b = mixed(_COLOURS[direction], 0.2 + 0.8 * strength / LEVELS, GROUND)
    return f"bold white on rgb({r},{g},{b})"


def sentence(example: Mapping[str, Any], values: ArrayLike, *, signed: bool) -> Text:
    """Colour every unit in the text of an example; show units without a place in it by name."""
    numbers = np.asarray(values, np.float64)
    units, inputs = example["units"], example["inputs"]
    largest = float(np.max(np.abs(numbers), initial=0.0))
    out = Text()
    for part in sorted({int(p) for p in units["part"]}):
        whole = (inputs.get("text"), inputs.get("text_pair"))[part] if part < 2 else None
        out.append("\n" if part else "")
        at = 0
        for i, name in enumerate(units["names"]):
            if units["part"][i] != part or units["special"][i]:
                continue
            look = style(level(numbers[i], largest), side(numbers[i], signed=signed))
            start, stop = (int(units["places"][i][0]), int(units["places"][i][-1]))
            if units["place_kind"] == "span" and isinstance(whole, str) and start >= at and stop > start:
                out.append(whole[at:start])
                out.append(whole[start:stop], style=look)
                at = stop
            else:
                out.append(name, style=look)
                out.append(" ")
        out.append(whole[at:] if isinstance(whole, str) else "")
    return out


def patches(example: Mapping[str, Any], values: ArrayLike, *, signed: bool) -> Table:
    """Draw the patches of a picture in their places, each with its number on its colour."""
    numbers = np.asarray(values, np.float64)
    units = example["units"]
    largest = float(np.max(np.abs(numbers), initial=0.0))
    tops = sorted(
        {float(place[0]) for place, special in zip(units["places"], units["special"], strict=True) if not special}
    )
    grid = Table.grid(padding=0)
    for top in tops:
        row = [i for i, place in enumerate(units["places"]) if place[0] == top and not units["special"][i]]
        row.sort(key=lambda i: float(units["places"][i][1]))
        looks = [style(level(numbers[i], largest), side(numbers[i], signed=signed)) for i in row]
        grid.add_row(*(Text(f" {numbers[i]:+.2f} ", style=look) for i, look in zip(row, looks, strict=True)))
    return grid


def drawing(example: Mapping[str, Any], values: ArrayLike, *, signed: bool) -> RenderableType:
    """An example coloured by a method, whatever its modality."""
    draw = patches if example["units"]["place_kind"] == "box" else sentence
    return draw(example, values, signed=signed)


def strongest(example: Mapping[str, Any], values: ArrayLike, *, signed: bool, count: int = 5) -> Text:
    """The strongest units with their numbers, readable without colour."""
    cells = (
        f"{name} {number:+.3f}" if signed else f"{name} {number:.3f}" for name, number in _top(example, values, count)
    )
    return Text(say("term.draw.strongest", units=", ".join(cells)), style="dim")


def strongest_bars(example: Mapping[str, Any], values: ArrayLike, *, signed: bool, count: int = 5) -> Table:
    """The strongest units with a bar and a number each, for output without colours."""
    top = _top(example, values, count)
    largest = max((abs(number) for _, number in top), default=0.0) or 1.0
    grid = Table.grid(padding=(0, 1))
    grid.add_column(max_width=24, overflow="ellipsis", no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_column(justify="right", no_wrap=True)
    for name, number in top:
        bar = "█" * round(BAR * abs(number) / largest) if np.isfinite(number) else ""
        grid.add_row(Text(name), Text(f"{bar:<{BAR}}"), Text(f"{number:+.3f}" if signed else f"{number:.3f}"))
    return grid


def _top(example: Mapping[str, Any], values: ArrayLike, count: int) -> list[tuple[str, float]]:
    numbers, units = np.asarray(values, np.float64), example["units"]
    free = [i for i in range(len(numbers)) if not units["special"][i]]
    names = distinct_names(units["names"])
    return [(names[i], float(numbers[i])) for i in sorted(free, key=lambda i: (-abs(numbers[i]), i))[:count]]


def key(*, signed: bool) -> Text:
    """Explain the colours."""
    if not signed:
        return Text.assemble((say("term.draw.how_much"), style(LEVELS, "a")), say("term.draw.no_direction"))
    return Text.assemble(
        (say("term.draw.for"), style(LEVELS, "p")),
        say("term.draw.and"),
        (say("term.draw.against"), style(LEVELS, "m")),
        say("term.draw.answer"),
    )


def heat_map(
    weights: NDArray[Any], queries: Sequence[str], keys: Sequence[str], *, colour: bool, width: int
) -> RenderableType:
    """Draw (query, key) weights: a line per query while they fit, half blocks (two queries) beyond.

    Brightness is the square root of the weight over the largest one, so that small weights can be seen.
    """
    label = max((len(q) for q in queries), default=0)
    label = min(label, 14)
    room = max(8, width - label - 2)
    visible = np.asarray(weights, np.float64)[:, : room if len(queries) > 24 else room // 2]
    top = float(visible.max(initial=0.0)) or 1.0
    strength = np.sqrt(np.clip(visible, 0.0, None) / top)
    tall = len(queries) > 24 and colour
    step, cell = (2, 1) if tall else (1, 2)
    lines = [_ruler(visible.shape[1], label, cell)]
    for q in range(0, len(queries), step):
        line = Text.assemble((f"{queries[q][:label]:>{label}} ", "dim"))
        for k in range(visible.shape[1]):
            line.append(*_block(strength, q, k, colour=colour, tall=tall))
        lines.append(line)
    cut = len(keys) - visible.shape[1]
    if cut > 0:
        lines.append(Text(say("term.draw.cut", cut=cut, all=len(keys)), style="dim"))
    return Group(*lines)


def _ruler(count: int, label: int, cell: int) -> Text:
    marks = "".join(f"{k:<{5 * cell}}" for k in range(0, count, 5))[: count * cell]
    return Text(" " * (label + 1) + marks, style="dim")


def _block(strength: Floats, q: int, k: int, *, colour: bool, tall: bool) -> tuple[str, str]:
    if not colour:
        return SHADES[min(len(SHADES) - 1, int(strength[q, k] * len(SHADES)))] * 2, ""
    upper = "rgb({},{},{})".format(*mixed((240, 228, 66), float(strength[q, k]), (25, 25, 60)))
    if not tall:
        return "  ", f"on {upper}"
    below = float(strength[q + 1, k]) if q + 1 < len(strength) else 0.0
    return "▀", f"{upper} on " + "rgb({},{},{})".format(*mixed((240, 228, 66), below, (25, 25, 60)))


def links(
    weights: NDArray[Any],
    queries: Sequence[str],
    keys: Sequence[str],
    count: int = 6,
    positions: Sequence[int] | None = None,
) -> Table:
    """The largest weights with their numbers; `positions` are those of the queries (default: 0, 1, ...)."""
    flat = np.asarray(weights, np.float64)
    order = np.argsort(-flat, axis=None, kind="stable")[:count]
    rows = []
    for place in order:
        q, k = (int(v) for v in np.unravel_index(int(place), flat.shape))
        position = q if positions is None else positions[q]
        rows.append((f"{position} {queries[q]}", f"{k} {keys[k]}", f"{flat[q, k]:.3f}"))
    return plain_table(columns("term.draw.link_columns"), rows, title=say("term.draw.links"), right=(2,))


LONGEST_NAME = 28
"""Maximum characters of a first cell that is a name, which is never broken."""


def plain_table(
    head: Sequence[str], rows: Sequence[Sequence[str | Text]], *, title: str = "", right: Sequence[int] = ()
) -> Table:
    """Build a plain table: no vertical rules, numbers to the right. Cells are never parsed as markup."""
    table = Table(title=title or None, title_justify="left", title_style="bold", box=None, pad_edge=False)
    whole_names = all(len(str(row[0])) <= LONGEST_NAME for row in rows if row)
    for i, name in enumerate(head):
        table.add_column(
            Text(name, style="dim"),
            justify="right" if i in right else "left",
            overflow="fold",
            no_wrap=i == 0 and whole_names,
        )
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in row))
    return table


def bullets(sentences: Sequence[str]) -> Table:
    """Sentences as a list with a hanging indent."""
    grid = Table.grid(padding=(0, 1))
    for sentence in sentences:
        grid.add_row(Text("-"), Text(sentence))
    return grid
