"""F-Fidelity."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.errors import InputError, phrase
from regard.measures.curves import bin_sizes
from regard.measures.ranking import order
from regard.metrics._removal import FINE_TUNED, removal_case
from regard.protocols import Case
from regard.records import Bools, Floats, Relevance, Score
from regard.registry import InProfile, metric

SIZES = (0.1, 0.2, 0.3, 0.5)


@metric(
    better="higher",
    needs=("removal",),
    cite="Zheng et al. 2025",
    formula="mean over k of p(x) - p(x without some of its top k units) minus the same for the other units, asked of "
    "the model fine-tuned on masked inputs; `part` of them at random, at most `most` of all units",
    ceiling="leave_one_out",
    cost="2 draws forwards per size (up to 24); one training of the fine-tuned twin",
    misleads="it judges the relevance of one model by the answers of another; where the two decide by different "
    "evidence, a right explanation of the first scores low",
    profile=(InProfile(("full",), 21),),
)
def f_fidelity(
    case: Case,
    relevance: Relevance,
    *,
    sizes: tuple[float, ...] = SIZES,
    part: float = 0.5,
    most: float = 0.1,
    draws: int = 3,
    operator: str = FINE_TUNED,
) -> Score:
    """Effect of removing relevant units above that of removing others, within the removals seen in training.

    Returns one value per example in -1..1; NaN with fewer than two removable units. Removes only a random `part` of the
    top k units (or of the others), and never more than the share `most` of all units (at least one), so that no input
    is emptier than those that the fine-tuned model learned from. operator: by default finetuned_mask, which is refused
    where the model has no recipe to train a twin, or where the twin does not answer like the model on whole inputs; a
    named operator is asked of the model itself. Deviation: probabilities instead of right answers, and both sides as
    one difference. Curves `relevant` and `others`: (examples, sizes).

    >>> from regard.testing.toy import ToyCase
    >>> case = ToyCase(("wonderful film with a dull end",))
    >>> f_fidelity(case, case.relevance("leave_one_out")).values.round(3).tolist()
    [0.353]
    """
    if not sizes or min(sizes) <= 0 or max(sizes) >= 1 or not 0 < part <= 1 or not 0 < most <= 1 or draws < 1:
        got = phrase("errors.metrics.sizes_part_most_draws", sizes=tuple(sizes), part=part, most=most, draws=draws)
        raise InputError("f_fidelity", expected=phrase("errors.metrics.sizes_part_and_most_between"), got=got)
    case, way = removal_case(case, operator)
    drops = [_drops(case, i, relevance[i], sizes, part=part, most=most, draws=draws) for i in range(len(case.ids))]
    base, answers = case.base(), case.removed(drops, way)
    sides = np.full((2, len(case.ids), len(sizes)), np.nan)
    for i, drop in enumerate(drops):
        if len(drop):
            falls = base.probability[i] - answers.probability[answers.rows(i)]
            sides[:, i] = falls.reshape(len(sizes), 2, draws).mean(-1).T
    curves: dict[str, Floats] = {"relevant": sides[0], "others": sides[1]}
    return relevance.score(
        "f_fidelity",
        (sides[0] - sides[1]).mean(-1),
        better="higher",
        where={"operator": operator, "part": part, "most": most, "draws": draws},
        curves=curves,
        grid=tuple(sizes),
    )


def _drops(
    case: Case, i: int, values: Floats, sizes: Sequence[float], *, part: float, most: float, draws: int
) -> Bools:
    """Return (sizes x 2 x draws, units) sets: for each size, draws from the top units, then from the others."""
    units = case.units[i]
    free = np.flatnonzero(units.free)
    if len(free) < 2:
        return np.zeros((0, len(units)), np.bool_)
    ranked = free[order(values[free])]
    limit = max(1, int(most * len(free)))
    # the same numbers for every method: only the ranking decides which units they mean
    chances = case.rng(i, "f_fidelity", len(sizes), draws).random((len(sizes), draws, len(free)))
    rows = []
    for s, count in enumerate(np.minimum(bin_sizes(len(free), sizes), len(free) - 1)):
        for low, high in ((0, count), (count, len(free))):
            size = min(limit, max(1, round(part * (high - low))))
            for draw in range(draws):
                row = np.zeros(len(units), np.bool_)
                row[ranked[low + np.argsort(chances[s, draw, low:high])[:size]]] = True
                rows.append(row)
    return np.stack(rows)
