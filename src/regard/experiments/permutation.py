"""Permutation of attention weights."""

from __future__ import annotations

import numpy as np

from regard.desk.questions import edited
from regard.experiments._map import attention_scores, distances, maps, setting, yardsticks
from regard.protocols import Case, Findings
from regard.registry import HEADLINE, THOROUGH, InProfile, experiment


@experiment(
    question="Does permuting the attention weights change the prediction?",
    needs=("attention",),
    cite="Jain & Wallace 2019; Vashishth et al. 2019",
    formula="mean and median over permutations of the total variation between predictions; share of changed decisions",
    cost="`times` forwards, and one per unit (at most `most`) for the ceiling, computed above the attention only",
    misleads="no power if the weights are nearly equal; misses attention on the neighbour of the evidence",
    gives=(
        "permuted",
        "permuted_median",
        "permuted_flips",
        "largest_weight",
    ),
    profile=(
        InProfile(HEADLINE, 1),
        InProfile(("quick",), 1, "times=8"),
        InProfile(THOROUGH, 1),
    ),
)
def permutation(
    case: Case, *, times: int = 20, most: int | None = None, layers: str | int = "last", heads: str | int = "mean"
) -> Findings:
    """Change of the prediction when the attention weights of an example are permuted.

    Returns, per example: `permuted` (mean distance), `permuted_median` (Jain & Wallace's), `permuted_flips` (share of
    flipped predictions) and `largest_weight`. Curve `distance`: (examples, times). All heads share a permutation, which
    permutes the audited map itself. Only weights on units move; undefined below two units.
    Null: the identity permutation. Ceiling: all weight on the one unit that changes the prediction most,
    of the `most` heaviest ones.
    """
    map_list = maps(case, layers, heads, "permutation")
    orders = [[case.rng(i, "permutation", k).permutation(len(m)) for k in range(times)] for i, m in enumerate(map_list)]
    answers = edited(case, [[m.moved(order) for order in some] for m, some in zip(map_list, orders, strict=True)])
    apart, flips = distances(case, answers)
    short = np.array([len(m) < 2 for m in map_list])
    curve = np.where(short[:, None], np.nan, np.stack(apart))
    columns = {
        "permuted": curve.mean(-1),
        "permuted_median": np.median(curve, axis=-1),
        "permuted_flips": np.where(short, np.nan, np.stack(flips).mean(-1)),
        "largest_weight": np.array([m.alpha.max(initial=0.0) for m in map_list]),
    }
    where = setting(layers, heads)
    scores = attention_scores(case, columns, where, curves={"permuted": {"distance": curve}})
    return scores + yardsticks(case, map_list, where, names=("permuted", "permuted_flips"), most=most)
