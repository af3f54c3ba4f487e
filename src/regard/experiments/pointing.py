"""Removal test of the units that attention ranks first."""

from __future__ import annotations

import numpy as np

from regard.experiments._map import maps, setting
from regard.experiments._rankings import first, leave_one_outs, operators
from regard.experiments._rankings import references as reference_rankings
from regard.protocols import Case, Findings
from regard.records import Bools, Floats, Ints, Json, Score, Units
from regard.registry import HEADLINE, THOROUGH, InProfile, experiment

RANDOMS = 2
"""Random rankings: two suffice, for 98 % of the variance is between examples."""


@experiment(
    question="Does attention rank first the words that the prediction needs?",
    needs=("attention", "removal"),
    cite="the share of the achievable gain; operators and bins after DeYoung et al. 2020",
    formula="p(predicted class | the first k units alone) and p(predicted class | without them), for attention, five "
    "other rankings and random ones, by three operators",
    cost="2 forwards per unit (leave-one-out; at most 2 `most`), 9 gradients, 5 forwards per ranking and size",
    misleads="erasure tests whether the evidence ranks first, not whether every highlighted unit is evidence",
    profile=(
        InProfile(HEADLINE, 5),
        InProfile(("quick",), 5, "sizes=[1]"),
        InProfile(THOROUGH, 5),
    ),
)
def pointing(
    case: Case,
    *,
    sizes: tuple[int, ...] = (1, 2, 3),
    most: int | None = None,
    references: tuple[str, ...] | None = None,
    removals: int = 2,
    layers: str | int = "last",
    heads: str | int = "mean",
) -> Findings:
    """Predicted probability without, and with only, the units that each ranking puts first.

    Returns, for each ranking and operator: p without the first unit; curves `removed` and `kept`: (examples, sizes),
    NaN where an example has no more units than that. Rankings: attention, the `references` (by default LRP, integrated
    gradients, |gradient x input|, and leave-one-out by `removals` operators), and as many random rankings, at most two.
    Units that are resampled are only taken away: keeping some would bring in the evidence of others. most: passes of
    each leave-one-out per example; longer inputs are screened. `own` in `where` marks a ranking made with the operator
    that judges it.
    """
    rankings: dict[str, list[Floats]] = {"attention": [m.alpha for m in maps(case, layers, heads, "pointing")]}
    rankings |= reference_rankings(case, names=references, most=most, hints=[rankings["attention"]], removals=removals)
    free = [int(units.free.sum()) for units in case.units]
    for draw in range(min(removals, RANDOMS)):
        rankings[f"random:{draw}"] = [case.rng(i, "pointing", draw).random(n) for i, n in enumerate(free)]
    own, results = leave_one_outs(case), []
    ordered = {name: [first(row, max(sizes)) for row in scores] for name, scores in rankings.items()}
    for operator in operators(case):
        for name, orders in ordered.items():
            removed = _asked(case, orders, sizes, operator, keep=False)
            curves = {"removed": removed}
            if operator != "resample":
                curves["kept"] = _asked(case, orders, sizes, operator, keep=True)
            role = "method" if name == "attention" else "null" if name.startswith("random") else "ceiling"
            where: dict[str, Json] = setting(layers, heads, operator=operator, role=role)
            if own.get(name) == operator:
                where["own"] = True
            grid = tuple(float(k) for k in sizes)
            results.append(
                Score(
                    metric="pointing",
                    method=name,
                    ids=case.ids,
                    values=removed[:, 0],
                    better="none",
                    where=where,
                    curves=curves,
                    grid=grid,
                )
            )
    return results


def _asked(case: Case, orders: list[Ints], sizes: tuple[int, ...], operator: str, *, keep: bool) -> Floats:
    """Return (examples, sizes) predicted probabilities."""
    drops = [_drops(row, units, sizes, keep=keep) for row, units in zip(orders, case.units, strict=True)]
    answers = case.removed(drops, operator)
    out = np.full((len(case.ids), len(sizes)), np.nan)
    for i, rows in enumerate(drops):
        out[i, : len(rows)] = answers.probability[answers.rows(i)]
    return out


def _drops(order: Ints, units: Units, sizes: tuple[int, ...], *, keep: bool) -> Bools:
    free = np.flatnonzero(units.free)
    fitting = [k for k in sizes if k < len(free)]
    rows = np.zeros((len(fitting), len(units)), np.bool_)
    for row, k in zip(rows, fitting, strict=True):
        row[free[order[:k]]] = True
    return np.logical_and(units.free, ~rows) if keep else rows
