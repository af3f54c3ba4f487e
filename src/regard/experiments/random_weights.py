"""Random weights in place of attention."""

from __future__ import annotations

import numpy as np

from regard.desk.questions import edited
from regard.experiments._finding import finding
from regard.experiments._map import distances, maps, setting, yardsticks
from regard.protocols import Case, Findings
from regard.registry import THOROUGH, InProfile, experiment


@experiment(
    question="Do random attention weights change the prediction?",
    needs=("attention",),
    cite="Vashishth et al. 2019",
    formula="total variation between the prediction and that under weights from a flat Dirichlet distribution",
    cost="`times` forwards, and one per unit (at most `most`) for the ceiling, computed above the attention only",
    misleads="random weights are rarely as sharp as trained ones; permutation preserves sharpness",
    gives=(
        "random_weights",
        "random_flips",
    ),
    profile=(InProfile(THOROUGH, 3),),
)
def random_weights(
    case: Case, *, times: int = 10, most: int | None = None, layers: str | int = "last", heads: str | int = "mean"
) -> Findings:
    """Change of the prediction under random attention weights.

    Returns, per example: `random_weights` (mean distance, 0..1) and `random_flips` (share of flipped predictions).
    Curve `distance`: (examples, times). Undefined below two units. Null: the model's own weights patched in. Ceiling:
    all weight on the one unit that changes the prediction most, of the `most` heaviest ones.
    """
    map_list = maps(case, layers, heads, "random_weights")
    edits = [
        [m.given(case.rng(i, "random_weights", k).dirichlet(np.ones(len(m)))) for k in range(times)]
        for i, m in enumerate(map_list)
    ]
    apart, flips = distances(case, edited(case, edits))
    short = np.array([len(m) < 2 for m in map_list])
    curve = np.where(short[:, None], np.nan, np.stack(apart))
    flipped = np.where(short, np.nan, np.stack(flips).mean(-1))
    where = setting(layers, heads)
    return [
        finding("random_weights", case.ids, curve.mean(-1), where, curves={"distance": curve}),
        finding("random_flips", case.ids, flipped, where),
        *yardsticks(case, map_list, where, names=("random_weights", "random_flips"), most=most),
    ]
