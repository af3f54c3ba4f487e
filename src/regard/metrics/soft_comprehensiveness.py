"""Soft normalised comprehensiveness."""

from __future__ import annotations

from regard.metrics._soft_erasure import DRAWS, EMBEDDING, normalised_drops, soft_score
from regard.protocols import Case
from regard.records import Relevance, Score
from regard.registry import InProfile, metric


@metric(
    better="higher",
    needs=("removal",),
    cite="Zhao & Aletras 2023",
    formula="mean over draws of max(0, p(x) - p(x')) / max(0, p(x) - p(nothing)); a unit of x is missing in x' with "
    "the chance relevance / largest relevance",
    ceiling="leave_one_out",
    cost="`draws` forwards (10) and one for the empty input",
    misleads="a flat map removes everything and scores 1, so compare with random and with uniform; undefined where "
    "the empty input is predicted as surely",
    profile=(InProfile(("full",), 18),),
)
def soft_comprehensiveness(case: Case, relevance: Relevance, *, draws: int = DRAWS, operator: str = EMBEDDING) -> Score:
    """Share of the prediction that is lost when units go with the chances of their relevance (higher is better).

    Returns one value per example in 0..1; NaN where the prediction does not fall when everything is removed. Uses the
    values of the relevance, not only their order; a negative value counts as 0. operator: `embedding` sets
    single entries of the embeddings (or of other continuous inputs) to 0, as in the paper; models without them get
    whole units removed by their first operator, and `where` names it. Curve `share`: (examples, draws).

    >>> from regard.testing.toy import ToyCase
    >>> case = ToyCase(("wonderful film with a dull end",))
    >>> soft_comprehensiveness(case, case.relevance("attention")).values.round(3).tolist()
    [0.889]
    """
    shares, way = normalised_drops(case, relevance, draws, operator, keep=False)
    return soft_score("soft_comprehensiveness", relevance, shares, way, draws)
