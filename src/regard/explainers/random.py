"""Random baseline, which any method has to beat."""

from __future__ import annotations

import numpy as np

from regard.protocols import Case
from regard.records import Relevance
from regard.registry import EVERY, InProfile, explainer


@explainer(
    role="baseline",
    cite="DeYoung et al. 2020",
    cost="none",
    passes_per="none",
    formula="r_j uniform in 0..1",
    misleads="not as a baseline; a single draw has sampling variance (see `draw`)",
    profile=(InProfile(EVERY, 5),),
)
def random(case: Case, *, draw: int = 0) -> Relevance:
    """Random baseline: independent uniform numbers, one per unit.

    Returns one value in 0..1 per unit, special units 0. The numbers belong to (seed, example, draw), so they do
    not depend on batch, order or worker. draw: another draw of the same baseline.

    >>> from regard.testing.toy import ToyCase
    >>> random(ToyCase(("wonderful film",)))[0].round(2).tolist()
    [0.0, 0.14, 0.54]
    """
    rows = [
        np.where(units.free, case.rng(i, "random", draw).random(len(units)), 0.0) for i, units in enumerate(case.units)
    ]
    return Relevance.of("random", case.ids, rows)
