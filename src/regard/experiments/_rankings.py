"""Reference rankings for attention, and the removal operators that judge them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.desk.screening import screened
from regard.errors import Unsupported, phrase
from regard.explainers._references import BY_REMOVAL, REFERENCES, reference_path
from regard.measures.ranking import order
from regard.protocols import Case
from regard.records import Floats, Ints, Spec

OPERATORS = ("delete", "mask", "resample")
"""The preferred ways to take a unit away; what a modality does not know is made up for by its own ways."""


def operators(case: Case, most: int = 3) -> list[str]:
    """Return at most three operators, the preferred ones first."""
    available = [o for o in OPERATORS if o in case.operators]
    available += [o for o in case.operators if o not in available and o != "attention_mask"]
    available += [o for o in case.operators if o not in available]
    return sorted(available[:most], key=case.operators.index)


def leave_one_outs(case: Case, count: int = 2) -> dict[str, str]:
    """Map each leave-one-out ranking to its operator: `count` operators that insert nothing from other examples."""
    ways = [o for o in operators(case) if o != "resample"][:count] or operators(case)[:1]
    return {f"{BY_REMOVAL}:{way}": way for way in ways}


def references(
    case: Case,
    *,
    names: Sequence[str] | None = None,
    most: int | None = None,
    hints: Sequence[Sequence[Floats]] = (),
    removals: int = 2,
) -> dict[str, list[Floats]]:
    """Map ranking name -> (free unit,) scores per example, higher first, for all that the model supports.

    names: those of `REFERENCES` that are wanted; by default all, but of long inputs that `lrp` can explain no path of
    gradients, which costs more and finds less. most: passes of each leave-one-out per example. A longer input is
    screened (see `desk.screening`), and the units that the other rankings or `hints` put first are asked in any case.
    removals: leave-one-out rankings, each by another operator.
    """
    specs = {
        "lrp": Spec("explainer", "lrp"),
        "integrated_gradients": Spec("explainer", "integrated_gradients", reference_path(case.baselines)),
        "gradient": Spec("explainer", "input_x_gradient"),
    }
    rankings: dict[str, list[Floats]] = {}
    reasons = []
    for name, spec in specs.items():
        if name not in (names or REFERENCES) or (names is None and most is not None and "lrp" in rankings):
            continue
        try:
            relevance = case.relevance(spec)
        except Unsupported as refusal:
            reasons.append(str(refusal))
            continue
        rows = [np.asarray(row)[units.free] for row, units in zip(relevance, case.units, strict=True)]
        rankings[name] = [np.abs(row) for row in rows] if name == "gradient" else rows
    for name, way in leave_one_outs(case, removals).items() if BY_REMOVAL in (names or REFERENCES) else ():
        try:
            effects = screened(case, way, most, [*hints, *rankings.values()]).values
        except Unsupported as refusal:
            reasons.append(str(refusal))
            continue
        rankings[name] = [row[units.free] for row, units in zip(effects, case.units, strict=True)]
    if not rankings:
        raise Unsupported(
            phrase("errors.experiments.other_rankings"),
            expected=phrase("errors.experiments.gradients_or_removals"),
            got="; ".join(reasons),
        )
    return rankings


def first(values: Floats, count: int) -> Ints:
    """Return the `count` top-ranked units."""
    return order(values)[:count]
