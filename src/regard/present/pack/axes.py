"""Names along the query and key axes of every site of an example."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from regard.present.pack.records import AxisEntry
from regard.records import Site, Units

Shape = tuple[int, int, int, int]


def axes_of(
    units: Units,
    sites: Sequence[Site],
    shapes: Sequence[Shape],
    *,
    given: Mapping[str, tuple[AxisEntry, AxisEntry]],
    made: Sequence[str] | None,
) -> tuple[list[AxisEntry], list[tuple[int, int]]]:
    """Return every distinct axis once, and for each site the indices of its query and key axes."""
    axes: list[AxisEntry] = []

    def number(axis: AxisEntry) -> int:
        if axis not in axes:
            axes.append(axis)
        return axes.index(axis)

    writes = any(s.kind == "cross" for s in sites)
    where = []
    for site, (_, _, rows, columns) in zip(sites, shapes, strict=True):
        if site.key in given:
            query, key = given[site.key]
        elif writes and site.kind == "causal":
            query = key = written_axis(made, rows, shifted=True)
        else:
            key = unit_axis(units, columns)
            if site.kind == "cross":
                query = written_axis(made, rows, shifted=False)
            else:
                query = key if rows == columns else named_axis(["answer"] if rows == 1 else map(str, range(rows)))
        where.append((number(query), number(key)))
    return axes, where


def unit_axis(units: Units, size: int) -> AxisEntry:
    """Name each position by its unit, or by its number if it has none."""
    n = len(units)
    place = np.full(size, -1, np.int64)
    if not (size == 1 < n):  # one key for all units is none of them
        for unit in range(n):
            for key in units.keys_of(unit):
                if 0 <= key < size:
                    place[key] = unit
    boxes = units.place_kind == "box"
    part = [int(units.part[u]) if u >= 0 else 0 for u in place]
    for i in range(1, size):  # what ends a text belongs to it, whatever a tokenizer says of special tokens
        if place[i] < 0 or units.special[place[i]]:
            part[i] = part[i - 1]
    return AxisEntry(
        [str(units.names[u]) if u >= 0 else str(i) for i, u in enumerate(place)],
        [int(u) for u in place],
        [bool(units.special[u]) if u >= 0 else True for u in place],
        part,
        [units.places[u].tolist() if boxes and u >= 0 and not units.special[u] else [] for u in place],
    )


def named_axis(names: Sequence[str] | map[str]) -> AxisEntry:
    """Build an axis other than the input."""
    listed = [str(n) for n in names]
    n = len(listed)
    return AxisEntry(listed, [-1] * n, [False] * n, [1] * n, [[] for _ in listed])


def written_axis(made: Sequence[str] | None, rows: int, *, shifted: bool) -> AxisEntry:
    """Name the output of a decoder: the token that each row predicts, or (`shifted`) the one that it has read."""
    if made is None:
        return named_axis([f"out {i}" for i in range(rows)])
    names = (["<start>", *made] if shifted else list(made))[:rows]
    return named_axis([*names, *(f"out {i}" for i in range(len(names), rows))])
