"""Log-odds score."""

from __future__ import annotations

from regard.metrics._removal import FRACTIONS, removal_case, walk
from regard.protocols import Case
from regard.records import Relevance, Score
from regard.registry import EVERY, InProfile, metric


@metric(
    better="lower",
    needs=("removal",),
    cite="Shrikumar et al. 2017; Chen et al. 2019",
    formula="mean over k of f(x without its top k units) - f(x), f the log-odds log p / (1 - p) of the prediction "
    "(of a sequence its log-probability, of a regression the output)",
    ceiling="leave_one_out",
    cost="one forward per bin (5), shared with comprehensiveness",
    misleads="f is unbounded: a few examples with high confidence outweigh the others",
    profile=(InProfile(EVERY, 2),),
)
def log_odds(
    case: Case, relevance: Relevance, *, fractions: tuple[float, ...] = FRACTIONS, operator: str | None = None
) -> Score:
    """Change of the prediction's log-odds when the most relevant units are removed (lower is better).

    Returns one value per example (negative where evidence was removed); NaN without removable units. Curve
    `change`: (examples, bins). Deviation: log-odds against all other classes (the objective) instead of log p, which
    stops moving where p is near 1; for a sequence it is the log-probability, for regression the output.
    operator: removal operator.

    >>> from regard.testing.toy import ToyCase
    >>> case = ToyCase(("wonderful film with a dull end",))
    >>> log_odds(case, case.relevance("leave_one_out")).values.round(3).tolist()
    [-2.066]
    """
    case, way = removal_case(case, operator)
    change = walk(case, relevance, fractions, way, keep=False).value - case.base().value[:, None]
    values = change.mean(-1)
    return relevance.score(
        "log_odds",
        values,
        better="lower",
        where={"operator": operator or way},
        curves={"change": change},
        grid=tuple(fractions),
    )
