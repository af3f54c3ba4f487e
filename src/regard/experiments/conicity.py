"""Conicity: similarity of the states that attention mixes."""

from __future__ import annotations

import numpy as np

from regard.desk.site_questions import decomposition
from regard.experiments._finding import finding
from regard.experiments._map import maps, setting
from regard.measures.conicity import conicity as cone
from regard.protocols import Case, Findings
from regard.registry import THOROUGH, InProfile, experiment


@experiment(
    question="Are the states that attention mixes different enough for the weights to matter?",
    needs=("attention",),
    cite="Chandrahas et al. 2018; Mohankumar et al. 2020",
    formula="mean cosine between the value of each unit and their mean, over the heads that are read",
    cost="1 forward, and one per head",
    misleads="context only: faithful and deceptive models have the same range; never judge by it",
    gives=("conicity",),
    profile=(InProfile(THOROUGH, 8),),
)
def conicity(case: Case, *, layers: str | int = "last", heads: str | int = "mean") -> Findings:
    """Conicity of the vectors that attention mixes: their mean cosine similarity to the mean vector.

    Returns, per example: `conicity`, 0..1; near 1 all weights give nearly the same mixture. Deviation: uses the values
    after the output projection, which attention actually mixes, rather than the encoder's states. `conicity_null`: the
    same for equally many random directions of equal dimension. The ceiling is 1: all vectors point the same way.
    """
    values, null = [], []
    for i, m in enumerate(maps(case, layers, heads, "conicity")):
        cones, null_cones = [], []
        for part, rows in zip(decomposition(case, i, [r.site for r in m.reads]), m.sites, strict=True):
            head_values = part.values if rows.read.heads is None else part.values[list(rows.read.heads)]
            mixed = head_values[:, list(rows.keys)]
            cones += cone(mixed).tolist()
            null_cones += cone(case.rng(i, "conicity", rows.read.site).standard_normal(mixed.shape)).tolist()
        values.append(float(np.mean(cones)))
        null.append(float(np.mean(null_cones)))
    where = setting(layers, heads)
    return [
        finding("conicity", case.ids, np.array(values), where),
        finding("conicity_null", case.ids, np.array(null), {**where, "role": "null"}),
    ]
