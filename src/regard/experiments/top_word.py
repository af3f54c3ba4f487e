"""Agreement of attention with other methods on the top unit."""

from __future__ import annotations

import numpy as np

from regard.experiments._map import attention_scores, maps, setting
from regard.experiments._rankings import first
from regard.experiments._rankings import references as reference_rankings
from regard.explainers._references import BY_REMOVAL
from regard.protocols import Case, Findings
from regard.records import Floats
from regard.registry import EVERY, InProfile, experiment

ROLES = {"ceiling": "ceiling", "chance": "null"}


@experiment(
    question="Does attention name the same top word as other methods, as often as they agree with each other?",
    needs=("attention", "removal"),
    cite="Jain & Wallace 2019; the ceiling: gradient with leave-one-out",
    formula="share of other methods with the same first unit, minus 1/n; the same between gradients and leave-one-outs",
    cost="none beyond `pointing`, which asks the same",
    misleads="methods can agree and all be wrong",
    gives=(
        "agreement",
        "ceiling",
        "chance",
    ),
    profile=(InProfile(EVERY, 6),),
)
def top_word(
    case: Case,
    *,
    most: int | None = None,
    references: tuple[str, ...] | None = None,
    removals: int = 2,
    layers: str | int = "last",
    heads: str | int = "mean",
) -> Findings:
    """Share of other methods with the same top unit as attention, minus chance.

    Returns, per example: `agreement` (share of the other methods that put the same unit first, minus chance) and
    `ceiling` (the same between {integrated gradients, gradient} and {leave-one-out by each operator}); `chance` is 1/n.
    Without gradients the ceiling is that of the leave-one-outs among themselves. Undefined below two units. most:
    passes of each leave-one-out per example. removals: leave-one-outs, each by another operator.
    """
    alphas = [m.alpha for m in maps(case, layers, heads, "top_word")]
    others = {
        name: [int(first(row, 1)[0]) if len(row) else -1 for row in rows]
        for name, rows in reference_rankings(
            case, names=references, most=most, hints=[alphas], removals=removals
        ).items()
    }
    by_removal = [name for name in others if name.startswith(BY_REMOVAL)]
    slopes = [name for name in others if name not in by_removal]
    pairs = [(a, b) for a in slopes for b in by_removal] or [(a, b) for a in by_removal for b in by_removal if a < b]
    agreement, ceiling, chance = [], [], []
    for i, alpha in enumerate(alphas):
        n = len(alpha)
        if n < 2:
            agreement.append(np.nan)
            ceiling.append(np.nan)
            chance.append(np.nan)
            continue
        top = int(first(alpha, 1)[0])
        agreement.append(float(np.mean([tops[i] == top for tops in others.values()])) - 1 / n)
        same = [others[a][i] == others[b][i] for a, b in pairs]
        ceiling.append(float(np.mean(same)) - 1 / n if same else np.nan)
        chance.append(1 / n)
    columns: dict[str, Floats] = {
        "agreement": np.array(agreement),
        "ceiling": np.array(ceiling),
        "chance": np.array(chance),
    }
    about = {name: {"role": ROLES.get(name, "method")} for name in columns}
    return attention_scores(case, columns, setting(layers, heads), about=about)
