"""Exclusivity: very different attention maps with the same prediction."""

from __future__ import annotations

import math

import numpy as np

from regard.desk.questions import edited
from regard.experiments._map import Map, attention_scores, distances, maps, setting
from regard.experiments._weight_batches import SMALLEST, softmax
from regard.measures.divergence import jsd
from regard.measures.exclusivity import displaceable, heaviest, log_odds_within, most_distant
from regard.measures.exclusivity_of_many import displaceable_of_many, most_distant_of_many
from regard.protocols import Case, Findings
from regard.records import Answers, Edit, Floats, Score
from regard.registry import InProfile, experiment

LINEAR = 1e-3
"""How far the answer may be from the weighted sum of the answers to one unit each, to be called linear."""
CAPS = (0.01, 0.05, 0.1)
CAP = 0.05
SAFE = 1 - 1e-3
"""What is enumerated stays this much within the cap, so that rounding in the pass that checks it does not decide."""
ROLES = {"feasible_jsd": "ceiling", "displaceable_random": "null"}
NONE = np.array([-1.0, 0.0, -1.0, 0.0])
"""No other attention."""


@experiment(
    question="Does attention that avoids its top words give the same prediction?",
    needs=("attention",),
    cite="Jain & Wallace 2019; the exact optimum for linear decoders",
    formula="max JSD(alpha', alpha) with TVD <= cap, by enumeration of all attentions on one or two units; "
    "whether attention with nothing on the heaviest half can keep p within the cap",
    cost="1 forward per unit, and 6 to check what was found",
    misleads="it probes the decoder far from its training distribution and succeeds on faithful models too",
    gives=(
        "reach",
        "linear",
        "max_jsd",
        "feasible_jsd",
        "displaceable",
        "displaceable_random",
        "displaceable_exact",
    ),
    profile=(InProfile(("quick", "standard", "full"), 7),),
)
def exclusive(
    case: Case, *, caps: tuple[float, ...] = CAPS, layers: str | int = "last", heads: str | int = "mean"
) -> Findings:
    """Maximum divergence of attention with an unchanged prediction, and whether the heaviest units are replaceable.

    Returns, per example: `reach` (how far attention on one unit can move p), `linear` (1 where the answer is linear
    in the attention; with more than two classes only where the enumeration also meets its upper bound), `max_jsd` (at
    the cap .05; curve `jsd` over all caps, curve `change` what a forward pass says the candidate does to p: above the
    cap it is not accepted; column `other`: the accepted attention itself, which lies on two units at most: unit, share,
    unit, share; -1 for none), `feasible_jsd` (of the most distant attention on one unit, without a cap), `displaceable`
    (1 where attention without the heaviest half can keep p within .05), `displaceable_random` (the same without as many
    units drawn by lot) and `displaceable_exact` (1 where `displaceable` is proved: found, or shown to be impossible).
    The distances are exact where `linear` is 1; elsewhere attentions on one unit (on one or two, where several
    logits are linear) and the rest of the attention are tried, which is a lower bound.
    """
    map_list = maps(case, layers, heads, "exclusive")
    # equal weights besides: attention on one unit alone would be called linear whatever lies above it
    swept = edited(case, [[*(m.single(t) for t in range(len(m))), m.uniform()] for m in map_list])
    apart = [rows[:-1] for rows in distances(case, swept)[0]]
    base = case.base()
    linear = [_linear(m, swept, i, float(base.value[i]), base) for i, m in enumerate(map_list)]
    several = [None if linear[i] else _logits(m, swept, i, base) for i, m in enumerate(map_list)]
    alternatives: list[list[tuple[float, Floats]]] = []
    proved = dict.fromkeys(range(len(map_list)), False)
    for i, m in enumerate(map_list):
        single, p, many = swept.value[swept.rows(i)][:-1], float(base.probability[i]), several[i]
        if linear[i]:
            alternatives.append([most_distant(m.alpha, single, *log_odds_within(p, cap)) for cap in caps])
        elif many is not None:
            assert base.distribution is not None
            brackets = [most_distant_of_many(m.alpha, many, base.distribution[i], cap * SAFE) for cap in caps]
            alternatives.append([(b.value, b.other) for b in brackets])
            proved[i] = all(b.proved for b in brackets)
        else:
            alternatives.append([_best_single(m, apart[i], cap) for cap in caps])
    edit_lists: list[list[list[Edit]]] = []
    for i, m in enumerate(map_list):
        rest = _without(m, heaviest(m.alpha)), _without(m, _lot(case, i, m))
        edit_lists.append([m.given(other) for _, other in alternatives[i]] + [m.given(share) for share in rest])
    checked, _ = distances(case, edited(case, edit_lists))
    curves = np.full((2, len(map_list), len(caps)), np.nan)
    others = np.tile(NONE, (len(map_list), 1))
    columns: dict[str, list[float]] = {
        name: []
        for name in ("reach", "linear", "feasible_jsd", "displaceable", "displaceable_random", "displaceable_exact")
    }
    for i, m in enumerate(map_list):
        if len(m) < 2:
            for values in columns.values():
                values.append(math.nan)
            continue
        single, slab = swept.value[swept.rows(i)][:-1], log_odds_within(float(base.probability[i]), CAP)
        for k, (value, _) in enumerate(alternatives[i]):
            change = float(checked[i][k])
            keeps_prediction = value >= 0 and change <= caps[k] + 1e-4
            curves[:, i, k] = (
                (value, change) if keeps_prediction else (0.0, 0.0)
            )  # attention itself always keeps the prediction
            if keeps_prediction and caps[k] == CAP:
                others[i] = _on_two(m, alternatives[i][k][1])
        columns["reach"].append(float(apart[i].max()))
        columns["feasible_jsd"].append(max(float(jsd(np.eye(len(m))[t], m.alpha)) for t in range(len(m))))
        for name, away, at in (
            ("displaceable", heaviest(m.alpha), len(caps)),
            ("displaceable_random", _lot(case, i, m), len(caps) + 1),
        ):
            could = bool((apart[i][~away] <= CAP).any() or (not away.all() and checked[i][at] <= CAP))
            many = several[i]
            exact = linear[i] or could
            if many is not None and not could:
                assert base.distribution is not None
                verdict = displaceable_of_many(many, away, base.distribution[i], CAP)
                could, proved[i] = bool(verdict), proved[i] and verdict is not None
                exact = verdict is not None
            if name == "displaceable":
                columns["displaceable_exact"].append(float(exact))
            columns[name].append(float(displaceable(single, away, *slab) if linear[i] else could))
        columns["linear"].append(float(linear[i] or proved[i]))
    where = setting(layers, heads)
    at_cap = curves[0][:, caps.index(CAP)] if CAP in caps else np.full(len(map_list), np.nan)
    both = {"jsd": curves[0], "change": curves[1], "other": others}
    return [
        Score(
            metric="max_jsd",
            method="attention",
            ids=case.ids,
            values=at_cap,
            better="none",
            where=where,
            curves=both,
            grid=tuple(caps),
        ),
        *attention_scores(
            case,
            {name: np.array(values) for name, values in columns.items()},
            where,
            about={name: {"role": ROLES.get(name, "method")} for name in columns},
        ),
    ]


def _on_two(m: Map, share: Floats) -> Floats:
    """Return the attention as (unit, share, unit, share), units numbered among all units of the example."""
    pair = NONE.copy()
    for k, place in enumerate(np.argsort(-share, kind="stable")[:2]):
        if share[place] > 0:
            pair[2 * k : 2 * k + 2] = m.free[place], share[place]
    return pair


def _linear(m: Map, asked: Answers, i: int, value: float, base: Answers) -> bool:
    """Use the linear solution for two classes only: with more, linear logits do not give linear log-odds."""
    if len(m) < 2 or base.distribution is None or base.distribution.shape[1] != 2:
        return False
    *single, equal = asked.value[asked.rows(i)]
    off = max(abs(float(m.alpha @ single) - value), abs(float(np.mean(single)) - float(equal)))
    return bool(off < LINEAR * (1 + np.abs(single).max()))


def _logits(m: Map, asked: Answers, i: int, base: Answers) -> Floats | None:
    """Return (unit, class) logits for more than two classes, if single-unit predictions determine all others."""
    if len(m) < 2 or asked.distribution is None or base.distribution is None or base.distribution.shape[1] < 3:
        return None
    probabilities = asked.distribution[asked.rows(i)]
    if probabilities.min() < SMALLEST:
        return None
    single = np.log(probabilities[:-1])
    own, equal = softmax(m.alpha @ single), softmax(single.mean(0))
    return single if np.allclose((own, equal), (base.distribution[i], probabilities[-1]), atol=LINEAR) else None


def _best_single(m: Map, apart: Floats, cap: float) -> tuple[float, Floats]:
    fitting = [(float(jsd(np.eye(len(m))[t], m.alpha)), t) for t in np.flatnonzero(apart <= cap)]
    if not fitting:
        return -1.0, m.alpha.copy()
    value, unit = max(fitting)
    return value, np.eye(len(m))[unit]


def _without(m: Map, away: np.ndarray) -> Floats:
    left = np.where(away, 0.0, m.alpha)
    if left.sum() > 0:
        return np.asarray(left / left.sum())
    return m.alpha if away.all() else np.asarray(~away / max(1, int((~away).sum())), np.float64)


def _lot(case: Case, i: int, m: Map) -> np.ndarray:
    away = np.zeros(len(m), np.bool_)
    away[case.rng(i, "exclusive").permutation(len(m))[: int(heaviest(m.alpha).sum())]] = True
    return away
