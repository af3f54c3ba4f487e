"""Removal test of each single head's top unit."""

from __future__ import annotations

import numpy as np

from regard.experiments._finding import finding
from regard.experiments._leave_one_out import lost_without
from regard.experiments._map import maps, setting
from regard.experiments._rankings import first
from regard.explainers._alignment import on_units, read_row
from regard.explainers._site_choice import chosen_sites
from regard.protocols import Case, Findings
from regard.records import Floats
from regard.registry import InProfile, experiment


@experiment(
    question="Is there one head whose top word the prediction needs more than that of the audited attention?",
    needs=("attention", "removal"),
    cite="heads differ: Michel et al. 2019; Voita et al. 2019",
    formula="mean over all units of p without that unit, minus p without the unit that the head puts first; by the two "
    "operators of leave-one-out",
    cost="1 forward per unit and operator, shared with `pointing`: nothing of its own",
    misleads="the best of many heads is partly lucky: correct for their number; a head may point at the word while "
    "another one carries it",
    profile=(InProfile(("quick", "standard", "full"), 9),),
)
def single_heads(case: Case, *, layers: str | int = "last", heads: str | int = "mean") -> Findings:
    """Drop of the prediction without each head's top unit, relative to removing a random unit.

    Returns, per example: `head_gain` of every head of every layer ("layer 2, head 5"), and of `attention`, the audited
    one (selected by `layers` and `heads`). The random reference is exact: the mean over all units. Undefined below two
    units. `head_gain_null`: of one random unit, 0 on average: the spread of luck. `head_gain_ceiling`: of the unit with
    the largest effect.
    """
    ways = lost_without(case)
    lost = [np.mean([way[i] for way in ways], axis=0) for i in range(len(case.ids))]
    alphas = [m.alpha for m in maps(case, layers, heads, "single_heads")]
    gains: dict[str, Floats] = {"attention": np.array([_gain(a, row) for a, row in zip(alphas, lost, strict=True)])}
    for i in range(len(case.ids)):
        for name, row in _heads(case, i).items():
            gains.setdefault(name, np.full(len(case.ids), np.nan))[i] = _gain(row, lost[i])
    where = setting(layers, heads)
    lot = [_gain(case.rng(i, "single_heads").random(len(row)), row) for i, row in enumerate(lost)]
    best = [_gain(row, row) for row in lost]
    return [
        *(
            finding("head_gain", case.ids, values, where, method=name, better="higher")
            for name, values in gains.items()
        ),
        finding(
            "head_gain_null", case.ids, np.array(lot), {**where, "role": "null"}, method="one unit", better="higher"
        ),
        finding(
            "head_gain_ceiling",
            case.ids,
            np.array(best),
            {**where, "role": "ceiling"},
            method="one unit",
            better="higher",
        ),
    ]


def _heads(case: Case, i: int) -> dict[str, Floats]:
    """Map each head to (free unit,) attention in the rows that the objective reads."""
    units = case.units[i]
    sites = chosen_sites(case, i, "all", "single_heads")
    layers = [s.site.layer for s in sites]
    rows = {}
    for site in sites:
        alone = layers.count(site.site.layer) == 1
        name = f"layer {site.site.layer}" if alone else site.site.key
        for head in range(site.shape[1]):
            row, _ = on_units([read_row(case, i, site, head)], units, renormalise=True)
            rows[f"{name}, head {head}"] = row[units.free]
    return rows


def _gain(looked: Floats, lost: Floats) -> float:
    return float(lost[first(looked, 1)[0]]) if len(lost) > 1 else float("nan")
