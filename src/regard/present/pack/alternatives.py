"""Alternative attention that the audit found for an example, as full weights, for a view to compare with.

The experiment `exclusive` stores it as shares of two units at most. This module writes these shares into the rows that
the answer reads, in every audited head, exactly as the experiment did (`experiments._map`): each row keeps its mass on
special tokens and sinks, and distributes the rest over those of the two units that it may attend to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.audits.conclusions.other_attention import CAP
from regard.present.messages.messages import say
from regard.present.pack.build import Alternative
from regard.records import Attention, Bools, Floats, Ints, Score, Units


def alternatives_of(
    findings: Sequence[Score], example: Mapping[str, Any], units: Units, sites: Sequence[Attention]
) -> list[Alternative]:
    """Return one alternative for each site with changed rows; empty if there is none, or if the run lacks the place."""
    name = example["id"]
    for score in findings:
        if score.metric == "max_jsd" and score.method == "attention" and "other" in score.curves and name in score.ids:
            i = score.ids.index(name)
            share = _share(np.asarray(score.curves["other"], np.float64)[i], units)
            if share is None:
                return []
            at = list(score.grid).index(CAP) if CAP in score.grid else 0
            change = float(np.asarray(score.curves["change"])[i, at])
            note, heads = say("pack.alternative", cap=CAP), score.where.get("heads", "mean")
            return [
                Alternative(site.site.key, weights, change, float(score.values[i]), note)
                for site in _audited(example, sites, score.where.get("layers", "last"))
                if (weights := _given(site, example["reading"][site.site.key], units, share, heads)) is not None
            ]
    return []


def _share(other: Floats, units: Units) -> Floats | None:
    """(free unit,) shares that sum to 1, from (unit, share, unit, share)."""
    share = np.zeros(len(units))
    for unit, part in ((other[0], other[1]), (other[2], other[3])):
        if unit >= 0 and part > 0:
            share[int(unit)] = part
    free = share[units.free]
    return free / free.sum() if free.sum() > 0 else None


def _audited(example: Mapping[str, Any], sites: Sequence[Attention], layers: object) -> list[Attention]:
    audited = [s for s in sites if s.site.key in set(example.get("audited") or ())]
    layer_numbers = sorted({s.site.layer for s in audited})
    layer_choice = layer_numbers if layers == "all" else layer_numbers[-1:] if layers == "last" else [layers]
    return [s for s in audited if s.site.layer in layer_choice]


def _given(
    site: Attention, rows: Sequence[int], units: Units, share: Floats, heads: object
) -> NDArray[np.float32] | None:
    """(head, query, key): weights of the site with this share in its rows; None if the keys are not the units."""
    weights = np.array(site.weights[0], np.float64)
    unit_keys = units.free_keys
    keys = np.array([key for some in unit_keys for key in some], np.int64)
    if (
        not len(rows)
        or not len(keys)
        or keys.min() < 0
        or keys.max() >= weights.shape[2]
        or max(rows) >= len(weights[0])
    ):
        return None
    head_index = [heads] if isinstance(heads, int) and not isinstance(heads, bool) else list(range(len(weights)))
    block = np.ix_(head_index, list(rows), keys.tolist())
    owner = np.repeat(np.arange(len(unit_keys)), [len(some) for some in unit_keys])
    part = np.where(_open(site, list(rows), keys, weights[block]), share[owner] * _within(weights[block], owner), 0.0)
    total = part.sum(-1, keepdims=True)
    mass = weights[block].sum(-1, keepdims=True)
    weights[block] = np.where(total > 0, mass * part / np.where(total > 0, total, 1.0), weights[block])
    return weights.astype(np.float32)


def _within(weights: Floats, owner: Ints) -> Floats:
    """(..., key): share of each position in the weight of its unit; equal shares if there is none."""
    unit_weights = np.stack([weights[..., owner == unit].sum(-1) for unit in range(owner.max() + 1)], -1)[..., owner]
    equal = 1 / np.bincount(owner)[owner]
    return np.asarray(np.where(unit_weights > 0, weights / np.where(unit_weights > 0, unit_weights, 1.0), equal))


def _open(site: Attention, rows: Sequence[int], keys: Ints, weights: Floats) -> Bools:
    """(row, unit): whether a row may attend to a unit."""
    if site.site.kind == "causal":
        return np.asarray(keys[None] <= np.array(rows)[:, None])
    if site.site.kind == "windowed":
        return np.asarray(weights.max(0) > 0)
    return np.ones((len(rows), len(keys)), np.bool_)
