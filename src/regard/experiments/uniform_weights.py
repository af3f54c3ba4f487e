"""Uniform weights in place of attention."""

from __future__ import annotations

import numpy as np

from regard.desk.questions import edited
from regard.experiments._finding import finding
from regard.experiments._map import distances, maps, setting, yardsticks
from regard.protocols import Case, Findings
from regard.registry import EVERY, InProfile, experiment


@experiment(
    question="Do uniform attention weights change the prediction?",
    needs=("attention",),
    cite="Vashishth et al. 2019; Wiegreffe & Pinter 2019",
    formula="total variation between the prediction and that under equal weights; whether the decision changes",
    cost="1 forward, and one per unit (at most `most`) for the ceiling, computed above the attention only",
    misleads="the model was not trained with uniform weights; a small change may mean that all states carry the "
    "same information",
    gives=(
        "uniform",
        "uniform_flips",
    ),
    profile=(InProfile(EVERY, 2),),
)
def uniform_weights(
    case: Case, *, most: int | None = None, layers: str | int = "last", heads: str | int = "mean"
) -> Findings:
    """Change of the prediction under uniform attention weights, without retraining.

    Returns, per example: `uniform` (distance of the predictions, 0..1) and `uniform_flips` (1 for a flipped
    prediction); undefined below two units. Null: the model's own weights patched in. Ceiling: all weight on the one
    unit that changes the prediction most, of the `most` heaviest ones.
    """
    map_list = maps(case, layers, heads, "uniform_weights")
    apart, flips = distances(case, edited(case, [[m.uniform()] for m in map_list]))
    short = np.array([len(m) < 2 for m in map_list])
    where = setting(layers, heads)
    return [
        finding("uniform", case.ids, np.where(short, np.nan, [a[0] for a in apart]), where),
        finding("uniform_flips", case.ids, np.where(short, np.nan, [f[0] for f in flips]), where),
        *yardsticks(case, map_list, where, names=("uniform", "uniform_flips"), most=most),
    ]
