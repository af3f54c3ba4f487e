"""Rank agreement of attention with gradients and leave-one-out."""

from __future__ import annotations

import numpy as np

from regard.desk.questions import slopes_at
from regard.errors import Unsupported, phrase
from regard.experiments._finding import finding
from regard.experiments._map import maps, setting
from regard.measures.agreement import kendall, null_sd, ragged
from regard.measures.divergence import tvd
from regard.measures.tau_significance import kendall_p
from regard.protocols import Case, Findings, Point
from regard.records import Floats, Json
from regard.registry import THOROUGH, InProfile, experiment

LEVEL = 0.05


@experiment(
    question="Does attention rank the words as gradients and leave-one-out do, as closely as those agree with each "
    "other?",
    needs=("attention", "removal"),
    cite="Jain & Wallace 2019",
    formula="Kendall's tau-b over the real units between attention, |gradient . input| with attention detached, and "
    "the total variation that leaving a unit out makes; ceiling: gradient with leave-one-out; null: random rankings",
    cost="1 gradient, 1 forward per unit (shared with leave_one_out)",
    misleads="p <= .05 measures length: the null spread of tau is .20 at 14 units and .01 at 2188; in long texts "
    "the many units near 0 decide it; disagreement with noisy references proves nothing",
    profile=(InProfile(THOROUGH, 10),),
)
def rank_agreement(
    case: Case, *, operator: str = "delete", layers: str | int = "last", heads: str | int = "mean"
) -> Findings:
    """Kendall's tau of attention with gradients and with leave-one-out.

    Returns, per example and pair (`attention~gradient`, `attention~leave_one_out`, the ceiling
    `gradient~leave_one_out`, the nulls `random~gradient`, `random~leave_one_out`): `tau` in -1..1, NaN where a ranking
    is constant or has one unit (counted, never averaged), with the column `null_sd`, and `tau_significant`, 1 where
    p <= .05. Deviations: gradients are of the log-odds, which rank as those of the probability do; in a Transformer
    every attention of the pass is detached; p is exact up to 50 units, without a correction for ties.
    """
    way = operator if operator in case.operators else case.operators[0]
    free = [np.flatnonzero(units.free) for units in case.units]
    columns: dict[str, list[Floats]] = {"attention": [m.alpha for m in maps(case, layers, heads, "rank_agreement")]}
    try:
        slopes = slopes_at(
            case, [Point(baseline="zero" if "zero" in case.baselines else case.baselines[0], detached=True)]
        )
        columns["gradient"] = [_normed(np.abs(s.dot[0][f])) for s, f in zip(slopes, free, strict=True)]
    except Unsupported:  # a model without gradients is still compared with leave-one-out
        pass
    columns["leave_one_out"] = _left_out(case, free, way)
    columns["random"] = [case.rng(i, "rank_agreement").random(len(f)) for i, f in enumerate(free)]
    count = np.array([len(f) for f in free])
    spread = {"null_sd": null_sd(count)[:, None], "units": count[:, None].astype(np.float64)}
    scores = []
    for pair, role in PAIRS.items():
        one, _, other = pair.partition("~")
        if one in columns and other in columns:
            tau = ragged(kendall, columns[one], columns[other])
            p = kendall_p(tau, count)
            where: dict[str, Json] = setting(layers, heads, operator=way, role=role)
            scores.append(finding("tau", case.ids, tau, where, method=pair, curves=spread))
            significant = np.where(np.isnan(p), np.nan, p <= LEVEL)
            scores.append(finding("tau_significant", case.ids, significant, where, method=pair, curves=spread))
    return scores


PAIRS = {
    "attention~gradient": "method",
    "attention~leave_one_out": "method",
    "gradient~leave_one_out": "ceiling",
    "random~gradient": "null",
    "random~leave_one_out": "null",
}


def _left_out(case: Case, free: list[np.ndarray], operator: str) -> list[Floats]:
    base = case.base().distribution
    drops = [np.eye(len(units), dtype=np.bool_)[f] for units, f in zip(case.units, free, strict=True)]
    answers = case.removed(drops, operator)
    if base is None or answers.distribution is None:
        raise Unsupported(
            "rank_agreement", expected=phrase("errors.common.classifier"), got=phrase("errors.common.another_task")
        )
    return [tvd(answers.distribution[answers.rows(i)], base[i][None]) for i in range(len(free))]


def _normed(values: Floats) -> Floats:
    """Normalize to sum 1, so that ties are judged on the scale of the attention."""
    total = values.sum()
    return values / total if total > 0 else values
