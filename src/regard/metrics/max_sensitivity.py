"""Max-sensitivity."""

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
    cite="Yeh et al. 2019",
    formula="max over draws of ||e(x + d) - e(x)|| / ||e(x)||, d Gaussian noise in the continuous inputs",
    ceiling="0: a relevance that never moves (uniform, position)",
    cost="`draws` times the method itself (3), shared with local_lipschitz",
    misleads="a relevance that ignores the input, such as random or uniform, is perfectly stable",
    profile=(InProfile(THOROUGH, 32),),
)
def max_sensitivity(
    case: Case, relevance: Relevance, *, noise: float = 0.05, draws: int = 3, share: float = 1.0
) -> Score:
    """Largest relative change of the relevance under small noise on the embeddings or the array.

    Returns one value per example, 0 or more (1: a change as large as the relevance); NaN for a zero relevance or an
    input that noise cannot change. noise: standard deviation as a share of the root mean square of the inputs. share:
    sampled share of the examples, because every draw reruns the method. The targets stay those of x.

    >>> from regard.testing.toy import ToyCase
    >>> case = ToyCase(("wonderful film with a dull end",))
    >>> max_sensitivity(case, case.relevance("leave_one_out")).values.round(3).tolist()
    [0.069]
    """
    part, part_relevance = sampled(case, relevance, share)
    size, change, displacement = noisy_changes(part, part_relevance, noise, draws)
    fine = (size > 0) & (displacement > 0).any(-1)
    values = np.where(fine, change.max(-1, initial=0.0) / np.where(size > 0, size, 1.0), np.nan)
    where: dict[str, Json] = {"noise": str(noise), "draws": draws}
    return part_relevance.score("max_sensitivity", values, better="lower", where=where)
