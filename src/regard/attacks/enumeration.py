"""Exhaustive search over changes of a few words."""

from __future__ import annotations

from collections.abc import Sequence

from regard.attacks._lockstep import lockstep_search
from regard.attacks._search import exhaustive
from regard.attacks._substitutes import substitutes
from regard.protocols import Case
from regard.records import Attacked, Threat
from regard.registry import attack


@attack(
    access="black box",
    modality=("text",),
    formula="all changes of one word, then all of two, ... in the order of the text, up to `words`",
    cost="(changeable words x many) to the power of `words`",
    misleads="complete only within the budget: a failure with all queries spent proves nothing",
)
def enumeration(
    case: Case, threat: Threat, *, words: int = 2, source: str = "neighbours", many: int = 12
) -> Sequence[Attacked]:
    """Try all changes of up to `words` words: one record per example, with the fewest words that flip it.

    The oracle for the other searches: if the budget suffices and this fails, no such change exists.
    """
    instead = substitutes(case, source, many)
    return lockstep_search(case, threat, lambda i, text: exhaustive(text, instead, words), "enumeration")
