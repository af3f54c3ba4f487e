"""Equal weights instead of attention."""

from __future__ import annotations

import numpy as np

from regard.desk.questions import edited
from regard.experiments._map import distances, maps, setting, yardsticks
from regard.protocols import Case, Findings
from regard.records import Score
from regard.registry import EVERY, InProfile, experiment


@experiment(
    question="Would the prediction be another one if the model looked everywhere equally?",
    needs=("attention",),
    cite="Vashishth et al. 2019; Wiegreffe & Pinter 2019",
    formula="total variation between the prediction and that under equal weights; whether the decision changes",
    cost="1 forward, and one per unit for the ceiling, of which only what lies above the attention is computed",
    misleads="the model was not trained with equal weights; a small change may mean that all states say the same",
    gives=(
        "uniform",
        "uniform_flips",
    ),
    profile=(InProfile(EVERY, 2),),
)
def uniform_weights(case: Case, *, layers: str | int = "last", heads: str | int = "mean") -> Findings:
    """How far does the prediction move under equal weights, without training anew?

    Comes out, per example: `uniform` (distance of the predictions, 0..1) and `uniform_flips` (1 where the decision
    changes); undefined below two units. Null: the model's own weights put back. Ceiling: all of the weight on the one
    unit that moves the prediction most.
    """
    found = maps(case, layers, heads, "uniform_weights")
    apart, flips = distances(case, edited(case, [[m.uniform()] for m in found]))
    short = np.array([len(m) < 2 for m in found])
    where = setting(layers, heads)
    return [
        Score("uniform", "attention", case.ids, np.where(short, np.nan, [a[0] for a in apart]), "none", where),
        Score("uniform_flips", "attention", case.ids, np.where(short, np.nan, [f[0] for f in flips]), "none", where),
        *yardsticks(case, found, where, "uniform", "uniform_flips"),
    ]
