"""Which methods an audit takes from the shelf: a few that are cheap, or all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from regard.records import Spec
from regard.registry import names

QUICK = ("comprehensiveness", "sufficiency", "log_odds", "agreement", "entropy")
"""Of the quick profile: what costs few forwards, and shares them."""

ASKED_AGAIN = ("max_sensitivity", "local_lipschitz", "weight_randomisation", "label_randomisation:by=head")
"""Metrics that run the explainer again: a part of the examples is enough to tell."""

WHOLE = (
    *QUICK,
    "aopc",
    "deletion_area",
    "insertion_area",
    "decision_flip",
    "monotonicity",
    "infidelity",
    "completeness_error",
    *(f"agreement:measure={measure}" for measure in ("spearman", "weighted_kendall", "top_k", "rbo")),
    "effective_units",
    "gini",
    *ASKED_AGAIN,
)

PLAUSIBILITY = ("token_f1", "iou_f1", "auprc")
"""Only where the data say which places are decisive."""

ALL = "all"
ADAPTERS = ("captum", "given")
"""Explainers that bring in what somebody else computed: never part of `all`."""


Named = TypeVar("Named", str, str | Spec)


def explainers(wanted: Sequence[Named]) -> list[Named]:
    """The wanted ones; `all` stands for every explainer that is not named beside it.

    >>> explainers(["rollout", "random"])
    ['rollout', 'random']
    >>> found = explainers(["lime:samples=20", "all"])
    >>> found[0], "lime" in found, "alti" in found, "given" in found
    ('lime:samples=20', False, True, False)
    """
    if ALL not in wanted:
        return list(wanted)
    found: list[Named] = [one for one in wanted if one != ALL]
    taken: set[str] = {str(one).partition(":")[0] for one in found} | set(ADAPTERS)
    found.extend(name for name in names("explainer") if name not in taken)
    return found
