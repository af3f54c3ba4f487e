"""Streaming survey: one example after the other through the model, every site's rows in chunks; stores only sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from regard.head_scores._view import Tally, View
from regard.protocols import Encoded, Model, SiteAttention, Target
from regard.records import Floats, Ints, Message, Site, Spec
from regard.registry import build
from regard.surveys.heads.axes import Corpus, allowed_keys, axes_of

CELLS = 1 << 21
"""Maximum weights held at once."""
REACH = 16
"""Maximum offset, and number of places from either end, to consider as the best fixed place."""


@dataclass(slots=True)
class Column:
    """Score of every head of one site: a row per example, NaN if undefined."""

    value: list[Floats] = field(default_factory=list)
    null: list[Floats] = field(default_factory=list)
    variance: list[Floats] = field(default_factory=list)
    offsets: Floats = field(default_factory=lambda: np.zeros(2 * REACH + 1))
    places: Floats = field(default_factory=lambda: np.zeros(2 * REACH))
    rows: int = 0

    @property
    def best_blind(self) -> tuple[Message, float]:
        """Best score of a head that ignores content, and the place that gives it.

        It is the share of rows in which the key at one offset, or at one place counted from the start or the end, is a
        chosen one.
        """
        if not self.rows:
            return Message("heads.place.none"), 0.0
        offset, place = int(np.argmax(self.offsets)), int(np.argmax(self.places))
        if self.offsets[offset] >= self.places[place]:
            return Message.of("heads.place.offset", n=offset - REACH), float(self.offsets[offset] / self.rows)
        if place < REACH:
            name = Message.of("heads.place.from_start", n=place)
        else:
            name = Message.of("heads.place.from_end", n=place - 2 * REACH)
        return name, float(self.places[place] / self.rows)


@dataclass(slots=True)
class _Sum:
    value: Any = 0.0
    null: Any = 0.0
    variance: Any = 0.0
    rows: int = 0


@dataclass(slots=True)
class Streamed:
    """Streamed scores: sites in order, and a column per site and score."""

    specs: tuple[Spec, ...]
    sites: dict[str, Site] = field(default_factory=dict)
    columns: dict[tuple[str, str], Column] = field(default_factory=dict)
    examples: int = 0

    def table(self, site: str, spec: Spec, part: str) -> Floats:
        """(example, head) of "value", "null" or "variance"."""
        rows: list[Floats] = getattr(self.columns[site, str(spec)], part)
        return np.stack(rows)


Also = Callable[[int, Sequence[SiteAttention]], None]


def stream(
    model: Model,
    encoded: Sequence[Encoded],
    targets: Sequence[Target],
    specs: Sequence[Spec],
    corpus: Corpus,
    *,
    also: Also | None = None,
    progress: Callable[[int], None] | None = None,
) -> Streamed:
    """Capture each example alone (no padding, one example's queries and keys in memory), tally, forget.

    `also` receives the sites of every example before they are dropped.
    """
    streamed = Streamed(tuple(specs))
    methods = {str(spec): build(spec) for spec in specs}
    for i, (item, target) in enumerate(zip(encoded, targets, strict=True)):
        sites = model.capture([item], [target]).sites
        for attention in sites:
            _observe(streamed, methods, model=model, corpus=corpus, item=item, target=target, attention=attention)
        streamed.examples += 1
        for key in set(streamed.sites) - {a.site.key for a in sites}:
            _undefined(streamed, methods, key)
        if also is not None:
            also(i, sites)
        if progress is not None:
            progress(i + 1)
    return streamed


def _observe(
    found: Streamed,
    methods: dict[str, Callable[[View], Tally]],
    model: Model,
    corpus: Corpus,
    item: Encoded,
    target: Target,
    attention: SiteAttention,
) -> None:
    site, (batch, heads, queries, keys) = attention.site, attention.shape
    axes = axes_of(model, corpus, encoded=item, target=target, site=site, queries=queries, keys=keys)
    sums = {name: _Sum() for name in methods}
    step = max(1, CELLS // max(1, heads * keys))
    found.sites.setdefault(site.key, site)
    for name in methods:
        found.columns.setdefault((site.key, name), _late(found.examples, heads))
    unknown = False
    for b in range(batch):
        for start in range(0, queries, step):
            rows: Ints = np.arange(start, min(start + step, queries))
            weights = attention.rows(b, rows.tolist()).astype(np.float64)
            if not np.isfinite(weights).all():  # nothing is known about this site of this example
                unknown = True
                continue
            allowed = allowed_keys(site, weights, rows, keys, queries)
            view = View(
                site=site,
                weights=weights,
                rows=rows,
                allowed=allowed,
                same_axis=axes.same,
                query_tokens=axes.query_tokens[rows],
                key_tokens=axes.key_tokens,
                special=axes.special,
                count=axes.count,
            )
            for name, method in methods.items():
                tally = method(view)
                _add(sums[name], found.columns[site.key, name], tally, view)
    for name, total in sums.items():
        column, nothing = found.columns[site.key, name], np.full(heads, np.nan)
        r = 0 if unknown else total.rows
        column.value.append(total.value / r if r else nothing)
        column.null.append(total.null / r if r else nothing)
        column.variance.append(total.variance / r**2 if r else nothing)


def _add(total: _Sum, column: Column, tally: Tally, view: View) -> None:
    rows = int(tally.defined.sum())
    if not rows:
        return
    total.value = total.value + (tally.value * tally.defined).sum(-1)
    total.null = total.null + (tally.null * tally.defined).sum(-1)
    total.variance = total.variance + (tally.variance * tally.defined).sum(-1)
    total.rows += rows
    if tally.key_mask is not None:
        attended = tally.key_mask & tally.defined[:, None]
        near = attended & (np.abs(view.offset) <= REACH)
        column.offsets += np.bincount(view.offset[near] + REACH, minlength=2 * REACH + 1)
        each = attended.sum(0)[:REACH], attended.sum(0)[::-1][:REACH]
        column.places[: len(each[0])] += each[0]
        column.places[2 * REACH - len(each[1]) :] += each[1][::-1]
        column.rows += rows


def _late(examples: int, heads: int) -> Column:
    """Column of a site that did not occur in the first examples."""
    nothing = [np.full(heads, np.nan)] * examples
    return Column(list(nothing), list(nothing), list(nothing))


def _undefined(found: Streamed, methods: dict[str, Callable[[View], Tally]], key: str) -> None:
    nothing = np.full(found.sites[key].heads, np.nan)
    for name in methods:
        column = found.columns[key, name]
        for part in (column.value, column.null, column.variance):
            part.append(nothing)
