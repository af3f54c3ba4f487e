"""Beam search over word substitutions."""

from __future__ import annotations

from collections.abc import Sequence

from regard.attacks._lockstep import lockstep_search
from regard.attacks._search import Importance
from regard.attacks._search import beam as search
from regard.attacks._substitutes import substitutes
from regard.protocols import Case
from regard.records import Attacked, Threat
from regard.registry import attack


@attack(
    access="black box",
    modality=("text",),
    cite="Yoo et al. 2020 (searching for a search method)",
    formula="the `width` best texts of each round, each with every substitute of the `words` most important words",
    cost="width x words x many forwards per round; usually exhausts the budget",
    misleads="as for greedy_word: substitutes need not be synonyms",
)
def beam(
    case: Case,
    threat: Threat,
    *,
    width: int = 4,
    words: int = 8,
    importance: Importance = "deletion",
    source: str = "neighbours",
    many: int = 12,
) -> Sequence[Attacked]:
    """Search several partially changed texts in parallel until one flips the prediction: one record per example.

    Finds word pairs that only work together, which greedy search misses, at the cost of more queries.
    """
    instead = substitutes(case, source, many)
    return lockstep_search(case, threat, lambda i, text: search(text, instead, importance, width, words), "beam")
