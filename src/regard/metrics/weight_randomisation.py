"""Model-parameter randomisation check."""

from __future__ import annotations

import numpy as np

from regard.desk.changes import Randomized
from regard.measures.agreement import ragged, spearman
from regard.metrics._rerun import again, sampled
from regard.protocols import Case
from regard.records import Json, Relevance, Score
from regard.registry import InProfile, metric


@metric(
    better="lower",
    family="randomisation",
    cite="Adebayo et al. 2018",
    formula="Spearman(|e|, |e of the model with its top `depth` blocks randomised|), at depth 1 (all blocks)",
    ceiling="0: nothing left of the explanation when nothing is left of the model",
    cost="one run of the method per depth (4; 2 in a standard audit), and one forward each",
    misleads="low is necessary, not sufficient: random numbers drawn anew would pass; here random is seeded by the "
    "example, does not look at the model and so scores 1; a text with one loud unit keeps it for other reasons",
    profile=(InProfile(("standard",), 34, "depths=[0.5,1.0]"), InProfile(("full",), 34)),
)
def weight_randomisation(
    case: Case,
    relevance: Relevance,
    *,
    depths: tuple[float, ...] = (0.25, 0.5, 0.75, 1.0),
    draw: int = 0,
    share: float = 1.0,
) -> Score:
    """Rank correlation with the explanations of the model while its layers are randomised from the top down.

    Returns one value per example in -1..1, the rank correlation of magnitudes with the model randomised at the last
    depth; NaN if either is constant. Curve `similarity`: (examples, depths), the cascade. Deviation: permutes the
    weights of a block instead of redrawing them, which preserves their scale; blocks are the numbered layers and the
    modules outside of them, in declaration order. The model itself stays unchanged.
    draw: number of the permutation. share: sampled share of the examples.

    >>> from regard.testing.toy import ToyCase
    >>> case = ToyCase(("wonderful film with a dull end",))
    >>> weight_randomisation(case, case.relevance("random")).values.round(3).tolist()
    [1.0]
    """
    part, part_relevance = sampled(case, relevance, share)
    free = [units.free for units in part.units]
    magnitudes = [np.abs(row[f]) for row, f in zip(part_relevance, free, strict=True)]
    columns = []
    for depth in depths:
        other = again(part.variant(Randomized(depth, draw)), relevance.method)
        columns.append(ragged(spearman, magnitudes, [np.abs(row[f]) for row, f in zip(other, free, strict=True)]))
    similarity = np.stack(columns, -1)
    where: dict[str, Json] = {"draw": draw}
    return part_relevance.score(
        "weight_randomisation",
        similarity[:, -1],
        better="lower",
        where=where,
        curves={"similarity": similarity},
        grid=tuple(depths),
    )
