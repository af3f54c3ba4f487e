"""Label randomisation check."""

from __future__ import annotations

from typing import Literal

from regard.desk.changes import OtherClass, ShuffledLabels
from regard.errors import Unsupported
from regard.measures.agreement import ragged, spearman
from regard.metrics._rerun import again, sampled
from regard.protocols import Case, Change
from regard.records import Json, Relevance, Score
from regard.registry import THOROUGH, InProfile, metric


@metric(
    better="lower",
    family="randomisation",
    cite="Adebayo et al. 2018 (labels shuffled); Sixt et al. 2020 (another class)",
    formula="Spearman(e, e of the model that learned from shuffled labels), signed; else Spearman(e, e for another "
    "class)",
    ceiling="0 or below: another function, another explanation",
    cost="one run of the method; one training if the model comes with its recipe",
    misleads="with two classes, swapping the class negates a signed method (-1) and cannot change an unsigned one "
    "(1); check `by` first",
    profile=(InProfile(THOROUGH, 35, "by=head"),),
)
def label_randomisation(
    case: Case, relevance: Relevance, *, by: Literal["auto", "labels", "head"] = "auto", share: float = 1.0
) -> Score:
    """Rank correlation with the explanation of a model trained on shuffled labels, or of another class.

    Returns one value per example in -1..1; NaN if either is constant. by="labels": a copy of the model trained on
    shuffled labels, if the model comes with its recipe (sources with a parameter `labels`); by="head": the same model
    with swapped classes, that is, the explanation of another class; "auto": the first that is possible. `where` records
    the choice. share: sampled share of the examples.

    >>> from regard.testing.toy import ToyCase
    >>> case = ToyCase(("wonderful film with a dull end",))
    >>> label_randomisation(case, case.relevance("leave_one_out"), by="head").values.round(3).tolist()
    [-1.0]
    """
    part, part_relevance = sampled(case, relevance, share)
    change: Change = OtherClass() if by == "head" else ShuffledLabels()
    try:
        variant = part.variant(change)
    except Unsupported:
        if by == "labels":
            raise
        change = OtherClass()
        variant = part.variant(change)
    other = again(variant, relevance.method)
    free = [units.free for units in part.units]
    xs = [row[f] for row, f in zip(part_relevance, free, strict=True)]
    values = ragged(spearman, xs, [row[f] for row, f in zip(other, free, strict=True)])
    where: dict[str, Json] = {"by": "another class" if isinstance(change, OtherClass) else "shuffled labels"}
    return part_relevance.score("label_randomisation", values, better="lower", where=where)
