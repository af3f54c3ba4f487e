"""The audited attention: its sites, rows and heads, for reading and for patching.

Defined once for every experiment, and equal to `explainers.attention`: the pooling site if the model has one, else its
cross-attention, else its self-attention; its query rows that the objective reads; of the last layer, one layer or all;
and of one head or all. Patching changes exactly these rows and heads. Weight on special tokens and sinks stays: only
weight on units moves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from regard.desk.finite_answers import unknown
from regard.desk.questions import edited
from regard.errors import Unsupported, phrase
from regard.experiments._finding import finding
from regard.explainers._alignment import on_units, pooled_heads, rows_read
from regard.explainers._site_choice import chosen_sites
from regard.measures.ranking import order
from regard.protocols import Case, Read, SiteAttention
from regard.records import Answers, Bools, Edit, Floats, Ints, Json, Message, Score, Text

Layers = str | int
Heads = str | int


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows of a site that the objective reads. weights: (head, row, unit) on free units; open: (row, unit) visible.

    keys: positions of the free units. owner: (key,) the free unit of each. within: (head, row, key) the share of its
    unit's weight that each position has; None where every unit has one position.
    """

    read: Read
    keys: tuple[int, ...]
    weights: Floats
    open: Bools
    owner: Ints
    within: Floats | None = None

    def by_key(self, weights: Floats) -> Floats:
        """(..., unit) -> (..., key): the weight of a unit keeps its shares among the positions of the unit."""
        return weights if self.within is None else weights[..., self.owner] * self.within

    def by_unit(self, gradient: Floats) -> Floats:
        """(head, row, position) slopes by weights of positions -> (head, row, unit) by weights of units."""
        slopes = gradient[:, :, list(self.keys)]
        if self.within is None:
            return slopes
        parts = slopes * self.within
        return np.stack([parts[..., self.owner == unit].sum(-1) for unit in range(self.weights.shape[-1])], -1)

    def edit(self, weights: Floats) -> Edit:
        """Build the edit that patches in these weights."""
        return Edit(
            "replace",
            site=self.read.site,
            heads=self.read.heads,
            queries=self.read.queries,
            keys=self.keys,
            values=np.asarray(self.by_key(weights), np.float32),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Map:
    """Audited attention of one example. alpha: (free unit,) summing to 1; free: positions of these units."""

    alpha: Floats
    free: Ints
    sites: tuple[Rows, ...]

    def __len__(self) -> int:
        return len(self.free)

    @property
    def reads(self) -> tuple[Read, ...]:
        return tuple(rows.read for rows in self.sites)

    def moved(self, order: Ints) -> list[Edit]:
        """Permute weights: unit j gets the weights of unit order[j], among the units that each row sees."""
        return [rows.edit(_moved(rows, order)) for rows in self.sites]

    def given(self, share: Floats) -> list[Edit]:
        """Distribute the mass of every row and head over the units in proportion to `share`, which sums to 1."""
        return [rows.edit(_given(rows, share)) for rows in self.sites]

    def uniform(self) -> list[Edit]:
        return self.given(np.full(len(self), 1 / len(self)))

    def single(self, unit: int) -> list[Edit]:
        """Put all of the mass on one unit."""
        return self.given(np.eye(len(self))[unit])


def _moved(rows: Rows, order: Ints) -> Floats:
    weights = rows.weights.copy()
    for row, visible in enumerate(rows.open):
        source = order[visible[order]]
        weights[:, row, np.flatnonzero(visible)] = rows.weights[:, row, source]
    return weights


def _given(rows: Rows, share: Floats) -> Floats:
    part = np.where(rows.open, share, 0.0)
    total = part.sum(-1, keepdims=True)
    mass = rows.weights.sum(-1, keepdims=True)
    # a row that sees none of these units keeps what it has
    return np.asarray(np.where(total > 0, mass * part / np.where(total > 0, total, 1.0), rows.weights))


def maps(case: Case, layers: Layers, heads: Heads, name: str) -> list[Map]:
    """Return the audited attention of every example; raise for a model without attention."""
    return [_map(case, i, layers, heads, name) for i in range(len(case.ids))]


def _map(case: Case, i: int, layers: Layers, heads: Heads, name: str) -> Map:
    units = case.units[i]
    free = np.flatnonzero(units.free)
    unit_keys = units.free_keys
    keys = tuple(key for some in unit_keys for key in some)
    owner = np.repeat(np.arange(len(free)), [len(some) for some in unit_keys])
    sites, read = [], []
    for site in chosen_sites(case, i, layers, name):
        queries = tuple(rows_read(case, i, site))
        weights = np.asarray(site.rows(0, queries), np.float64)
        if not np.isfinite(weights).all():  # else nothing on any unit would pass for no preference
            raise unknown(phrase("errors.common.attention_site", site=site.site.key), 1, 1)
        read.append(pooled_heads(weights.mean(1), heads))
        only = (heads,) if isinstance(heads, int) else None
        selected_heads = weights if only is None else weights[list(only)]
        sites.append(
            Rows(
                read=Read(site.site.key, queries, only),
                keys=keys,
                weights=units.gathered(selected_heads)[:, :, free],
                open=_open(site, queries, [some[0] for some in unit_keys], selected_heads),
                owner=owner,
                within=None if units.key_counts is None else _shares(selected_heads[:, :, list(keys)], owner),
            )
        )
    alpha, _ = on_units(read, units, renormalise=True)
    alpha_free = alpha[free]
    # nothing on any unit (all on special tokens): there is no preference among them
    return Map(alpha_free if alpha_free.sum() > 0 else np.full(len(free), 1 / max(1, len(free))), free, tuple(sites))


def _shares(weights: Floats, owner: Ints) -> Floats:
    """(..., key) the share that each position has in the weight of its unit; equal shares where there is none."""
    shares = np.empty_like(weights)
    for unit in np.unique(owner):
        inside = owner == unit
        total = weights[..., inside].sum(-1, keepdims=True)
        shares[..., inside] = np.where(
            total > 0, weights[..., inside] / np.where(total > 0, total, 1), 1 / inside.sum()
        )
    return shares


def _open(site: SiteAttention, queries: Sequence[int], keys: Sequence[int], weights: NDArray[np.float64]) -> Bools:
    """Return (row, unit) visibility under causal and window masks."""
    shape = (len(queries), len(keys))
    if site.site.kind == "causal":
        return np.asarray(np.array(keys)[None] <= np.array(queries)[:, None])
    if site.site.kind == "windowed":
        return np.asarray(weights[:, :, list(keys)].max(0) > 0)
    return np.ones(shape, np.bool_)


def in_words(case: Case, i: int, layers: Layers, heads: Heads, name: str) -> Message:
    """Describe the audited attention for display beside every verdict; the same for all examples of one model."""
    sites = chosen_sites(case, i, layers, name)
    first = sites[0]
    rows = tuple(rows_read(case, i, first))
    _, width, queries, _ = first.shape
    if first.site.kind == "pooling":
        which = "pooling" if queries == 1 else "pooling_mean"
    elif first.site.kind == "cross" and len(rows) == 1:
        which = "row"  # another one in each example: the row of a written token or of an object
    elif len(rows) == queries:
        which = "mean"
    elif rows == (0,):
        which = "first"
    elif rows == (queries - 1,):
        which = "last"
    else:
        which = "row" if len(rows) == 1 else "rows"
    site = f"“{first.site.name}”"
    more: Text = ""
    place = Message("map.some_layer")
    if len(sites) == 1:
        place = Message.of("map.layer", layer=first.site.layer)
    else:
        more = Message.of("map.more_sites", n=len(sites) - 1)
        place = Message.of("map.layers", n=len(sites)) if layers == "all" else place
    pooled = Message.of("map.heads", how=Message(f"map.of_heads_{heads}"), n=width)
    if isinstance(heads, int):
        pooled = Message.of("map.head", head=heads)
    elif width == 1:
        pooled = Message("map.one_head")
    return Message.of(f"map.{which}", site=site, more=more, place=place, heads=pooled)


def setting(layers: Layers, heads: Heads, **more: Json) -> dict[str, Json]:
    """Return the description of the audited attention that every finding carries."""
    return {"layers": layers, "heads": heads, **more}


def attention_scores(
    case: Case,
    columns: Mapping[str, Floats],
    where: Mapping[str, Json],
    *,
    about: Mapping[str, Mapping[str, Json]] = MappingProxyType({}),
    curves: Mapping[str, Mapping[str, Floats]] = MappingProxyType({}),
) -> list[Score]:
    """Build one score of the audited attention per column. about: further facts of a column."""
    return [
        finding(name, case.ids, values, {**where, **about.get(name, {})}, curves=curves.get(name, {}))
        for name, values in columns.items()
    ]


def distances(case: Case, answers: Answers) -> tuple[list[Floats], list[Bools]]:
    """Return per row the total variation from its example's base prediction, and whether the prediction flipped.

    Only for models that decide among classes.
    """
    base = case.base()
    if base.distribution is None or answers.distribution is None:
        raise Unsupported(
            phrase("errors.experiments.verdicts_about_attention"),
            expected=phrase("errors.common.classifier"),
            got=phrase("errors.common.another_task"),
        )
    apart, flips = [], []
    for i in range(len(case.ids)):
        rows = answers.distribution[answers.rows(i)]
        apart.append(0.5 * np.abs(rows - base.distribution[i]).sum(-1))
        flips.append(rows.argmax(-1) != base.distribution[i].argmax())
    return apart, flips


def yardsticks(
    case: Case,
    found: Sequence[Map],
    where: dict[str, Json],
    *,
    names: tuple[str, str],
    most: int | None = None,
) -> list[Score]:
    """Return null and ceiling rows for a change of the prediction under patched weights.

    names: of the change and of its flips. `CHANGE_null` and `FLIPS_null`: the same weights patched in unchanged; any
    value above 0 is an artefact of the patching. `CHANGE_ceiling` and `FLIPS_ceiling`: the largest effect of putting
    all weight on one unit; on one of the `most` heaviest ones, a lower bound, where there are more.
    """
    change, flips = names
    positions = [np.sort(order(m.alpha)[:most]) if most else np.arange(len(m)) for m in found]
    edit_lists = [
        [m.moved(np.arange(len(m))), *(m.single(int(t)) for t in units)]
        for m, units in zip(found, positions, strict=True)
    ]
    apart, flipped = distances(case, edited(case, edit_lists))
    rows = {name: np.full(len(found), np.nan) for name in (f"{change}_null", f"{flips}_null")}
    rows |= {name: np.full(len(found), np.nan) for name in (f"{change}_ceiling", f"{flips}_ceiling")}
    for i, m in enumerate(found):
        if len(m) > 1:
            for name, values in ((change, apart[i]), (flips, flipped[i])):
                rows[f"{name}_null"][i], rows[f"{name}_ceiling"][i] = values[0], values[1:].max()
    return attention_scores(case, rows, where, about={name: {"role": name.rpartition("_")[2]} for name in rows})
