"""Captures of some rows: their weights and their axes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.present.pack.axes import axes_of
from regard.present.pack.records import AxisEntry
from regard.protocols import Capture, SiteAttention
from regard.records import Attention, Units


def captured_positions(site: SiteAttention) -> list[int] | None:
    """Rows in a capture of some rows of a site; None if it holds all."""
    positions: list[int] | None = getattr(site, "positions", None)
    return None if positions is None or len(positions) == site.shape[2] else list(positions)


def captured_attention(site: SiteAttention) -> Attention:
    """All captured weights of a site: (batch, head, captured row, key)."""
    positions = captured_positions(site)
    if positions is None:
        return site.dense()
    weights = np.stack([site.rows(example, positions) for example in range(site.shape[0])])
    return Attention(site.site, weights, None, getattr(site, "checked", ""))


def row_axes(capture: Capture, units: Units, made: Sequence[str] | None) -> dict[str, tuple[AxisEntry, AxisEntry]]:
    """Return, by site key, the axes of sites that hold some rows: the names of these rows, and the keys."""
    positions = {site.site.key: rows for site in capture.sites if (rows := captured_positions(site)) is not None}
    if not positions:
        return {}
    sites, shapes = [s.site for s in capture.sites], [s.shape for s in capture.sites]
    axes, where = axes_of(units, sites, shapes, given={}, made=made)
    return {
        site.key: (_selected(axes[queries], positions[site.key]), axes[keys])
        for site, (queries, keys) in zip(sites, where, strict=True)
        if site.key in positions
    }


def _selected(axis: AxisEntry, rows: Sequence[int]) -> AxisEntry:
    return AxisEntry(
        [axis.names[row] for row in rows],
        [axis.units[row] for row in rows],
        [axis.special[row] for row in rows],
        [axis.part[row] for row in rows],
        [axis.boxes[row] for row in rows],
    )
