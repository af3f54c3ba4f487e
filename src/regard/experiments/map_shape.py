"""Shape of the attention map: flat, positional or content-based."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.desk.changes import Shuffled
from regard.desk.questions import UnitOrder
from regard.errors import Unsupported
from regard.experiments._map import Map, attention_scores, in_words, maps, setting
from regard.measures.divergence import tvd
from regard.protocols import Case, Findings
from regard.records import Floats, Json, encoded
from regard.registry import EVERY, InProfile, experiment

HARDLY = 0.1
"""Mean distance from the map of the shuffled units below which maps of different examples are compared."""


@experiment(
    question="Does the attention select anything, and does it depend on the input?",
    needs=("attention",),
    formula="TV(alpha, uniform); TV(alpha, alpha of the shuffled example), at the same places and along with the units",
    cost="1 forward of the shuffled example; 1 per companion where the map does not depend on the units",
    misleads="a sharp, content-dependent map may still be irrelevant to the prediction",
    gives=(
        "keys",
        "flat",
        "locked",
        "follows",
        "varies",
    ),
    profile=(InProfile(EVERY, 0),),
)
def map_shape(case: Case, *, layers: str | int = "last", heads: str | int = "mean") -> Findings:
    """Distance of the attention from uniform weights, and its dependence on position and on content.

    Returns, per example: `keys` (number of visible units), `flat` (distance from uniform weights), `locked` (distance,
    position by position, from the map of the shuffled units; 0: purely positional) and `follows` (the same, unit by
    unit; 0: purely content-based). Where shuffling hardly changes the map: `varies`, the mean distance from the maps of
    other examples with as many units (0: the same for all of them; a decoder's row may depend on the step that is due
    and on no unit). Distances are total variation, 0..1; undefined below two units. `where` describes the attention.
    `flat_null`: `flat` of random weights (flat Dirichlet); `flat_ceiling`: of all weight on one unit.
    `shuffled_ceiling`: `locked` of a purely content-based map, and `follows` of a purely positional one.
    """
    map_list = maps(case, layers, heads, "map_shape")
    words = in_words(case, 0, layers, heads, "map_shape") if case.ids else ""
    sites: list[Json] = [read.site for read in map_list[0].reads] if map_list else []
    where = setting(layers, heads)
    random_maps = [
        case.rng(i, "map_shape").dirichlet(np.ones(max(1, len(m))))[: len(m)] for i, m in enumerate(map_list)
    ]
    columns: dict[str, Floats] = {
        "keys": np.array([float(len(m)) for m in map_list]),
        "flat": np.array([_from_equal(m.alpha) for m in map_list]),
        "flat_null": np.array([_from_equal(alpha) for alpha in random_maps]),
        "flat_ceiling": np.array([_from_equal(np.eye(max(1, len(m)))[0][: len(m)]) for m in map_list]),
    }
    try:
        other = case.variant(Shuffled())
        again = maps(other, layers, heads, "map_shape")
    except Unsupported:  # units of different sizes cannot change places: it stays open whether the map is about places
        other, again = None, []
    if other is not None:
        at_places, along, most = [], [], []
        for m, shuffled, order in zip(map_list, again, other.ask([UnitOrder(name) for name in other.ids]), strict=True):
            place = np.full(len(order), -1)
            place[m.free] = np.arange(len(m))
            carried = m.alpha[place[order[m.free]]]
            at_places.append(_apart(shuffled.alpha, m.alpha))
            along.append(_apart(shuffled.alpha, carried))
            most.append(_apart(carried, m.alpha))
        columns |= {"locked": np.array(at_places), "follows": np.array(along), "shuffled_ceiling": np.array(most)}
        if np.isfinite(columns["locked"]).any() and np.nanmean(columns["locked"]) < HARDLY:
            columns["varies"] = _between_examples(case, map_list, layers, heads)
    about: dict[str, dict[str, Json]] = {
        "keys": {"attention": encoded(words), "sites": sites},
        "flat_null": {"role": "null"},
        "flat_ceiling": {"role": "ceiling"},
        "shuffled_ceiling": {"role": "ceiling"},
    }
    return attention_scores(case, columns, where, about=about)


def _between_examples(case: Case, map_list: Sequence[Map], layers: str | int, heads: str | int) -> Floats:
    """Return the mean distance of each map from those of other examples with as many units; NaN without any."""
    others = case.companions
    pool = [*zip(case.ids, map_list, strict=True)]
    pool += [*zip(others.ids, maps(others, layers, heads, "map_shape"), strict=True)] if others.ids else []
    distances = []
    for name, m in zip(case.ids, map_list, strict=True):
        apart = {other: _apart(m.alpha, o.alpha) for other, o in pool if other != name and len(o) == len(m)}
        distances.append(float(np.mean([*apart.values()])) if apart else float("nan"))
    return np.array(distances)


def _from_equal(alpha: Floats) -> float:
    return _apart(alpha, np.full(len(alpha), 1 / max(1, len(alpha))))


def _apart(one: Floats, other: Floats) -> float:
    return float(tvd(one, other)) if len(one) > 1 else float("nan")
