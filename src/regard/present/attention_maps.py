"""The attention of kept examples, made small enough for a page: one byte per weight, as the square root.

Plain linear bytes would erase every weight below 1/510; the square root keeps them (error below 0.004).
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.present.run_reader import Material
from regard.present.saying import say
from regard.records import Attention, Json

MOST_UNITS = 64
"""Queries and keys drawn per map; longer examples show their first ones, and say so."""
BUDGET = 6 << 20
"""Bytes of weights in one page; what does not fit is named."""


@dataclass(frozen=True, slots=True)
class SiteMap:
    """One site of one example: weights (head, query, key) with the names of its rows and columns."""

    name: str
    kind: str
    weights: NDArray[np.float32]
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    cut: bool

    def to_json(self) -> dict[str, Json]:
        packed = np.round(255 * np.sqrt(np.clip(self.weights, 0.0, 1.0))).astype(np.uint8).tobytes()
        return {
            "name": f"{self.name} ({self.kind})",
            "heads": int(self.weights.shape[0]),
            "queries": list(self.queries),
            "keys": list(self.keys),
            "data": base64.b64encode(packed).decode("ascii"),
        }


@dataclass(frozen=True, slots=True)
class ExampleMaps:
    id: str
    title: str
    sites: tuple[SiteMap, ...]


def attention_maps(material: Material) -> tuple[list[ExampleMaps], list[str]]:
    """The maps that fit, and in words what was left out."""
    found: list[ExampleMaps] = []
    left_out: list[str] = []
    used, cut = 0, 0
    for name in material.run.kept():
        example = material.by_id.get(name)
        if example is None:
            continue
        sites = tuple(site_map(a, example["units"]) for a in material.run.capture(name))
        size = sum(s.weights.size for s in sites)
        if not sites or used + size > BUDGET:
            left_out.append(name)
            continue
        used += size
        cut += any(s.cut for s in sites)
        title = str(example["inputs"].get("text") or name)
        found.append(ExampleMaps(name, title if len(title) <= 60 else title[:59] + "…", sites))
    notes = []
    if cut:
        notes.append(say("attention_view.cut", n=MOST_UNITS, cut=cut, all=len(found)))
    if left_out:
        notes.append(say("attention_view.left_out", names=", ".join(left_out)))
    return found, notes


def site_map(attention: Attention, units: Mapping[str, Any]) -> SiteMap:
    """One example's weights at a site, cut to what can be drawn, with names from its units."""
    weights = np.asarray(attention.weights[0], np.float32)
    _, q, k = weights.shape
    keys = axis_names(k, units)
    queries = keys if q == k else (say("attention_view.answer"),) if q == 1 else tuple(f"{i}" for i in range(q))
    return SiteMap(
        attention.site.key,
        attention.site.kind,
        weights[:, :MOST_UNITS, :MOST_UNITS],
        queries[:MOST_UNITS],
        keys[:MOST_UNITS],
        cut=max(q, k) > MOST_UNITS,
    )


def axis_names(size: int, units: Mapping[str, Any]) -> tuple[str, ...]:
    """Names along a key axis: the unit that stands there, or the position where none does."""
    names = [str(i) for i in range(size)]
    places = units.get("keys") or range(len(units["names"]))
    if size == 1 < len(units["names"]):
        return tuple(names)  # one key for all units is none of them
    for name, place in zip(units["names"], places, strict=True):
        if 0 <= place < size:
            names[int(place)] = str(name).strip() or "␣"
    return tuple(n if len(n) <= 14 else n[:13] + "…" for n in names)
