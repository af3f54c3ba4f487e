"""Local Lipschitz estimate."""

from __future__ import annotations

import numpy as np

from regard.metrics._rerun import noisy_changes, sampled
from regard.protocols import Case
from regard.records import Json, Relevance, Score
from regard.registry import THOROUGH, InProfile, metric


@metric(
    better="lower",
    amount=True,
    family="robustness",
    cite="Alvarez-Melis & Jaakkola 2018",
    formula="max over draws of (||e(x') - e(x)|| / ||e(x)||) / (||x' - x|| / ||x||), x' = x + Gaussian noise",
    ceiling="0: a relevance that never moves (uniform, position)",
    cost="`draws` times the method itself (3), shared with max_sensitivity",
    misleads="a relevance that ignores the input is perfectly smooth; a rough model has no smooth faithful explanation",
    profile=(InProfile(THOROUGH, 33),),
)
def local_lipschitz(
    case: Case, relevance: Relevance, *, noise: float = 0.05, draws: int = 3, share: float = 1.0
) -> Score:
    """Ratio of the relative change of the relevance to the relative change of the input under noise.

    Returns one value per example, 0 or more (1: as much as the inputs moved); NaN where the relevance is zero or
    nothing can be moved. Deviation: both changes are relative to their norms, so that methods and models of different
    scale can be compared. noise, draws, share: as in max_sensitivity.

    >>> from regard.testing.toy import ToyCase
    >>> case = ToyCase(("wonderful film with a dull end",))
    >>> local_lipschitz(case, case.relevance("leave_one_out")).values.round(3).tolist()
    [1.0]
    """
    part, part_relevance = sampled(case, relevance, share)
    size, change, displacement = noisy_changes(part, part_relevance, noise, draws)
    slope = np.divide(
        change, size[:, None] * displacement, out=np.zeros(change.shape), where=(size[:, None] * displacement) > 0
    )
    values = np.where((size > 0) & (displacement > 0).any(-1), slope.max(-1, initial=0.0), np.nan)
    where: dict[str, Json] = {"noise": str(noise), "draws": draws}
    return part_relevance.score("local_lipschitz", values, better="lower", where=where)
