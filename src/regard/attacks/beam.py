"""Beam search over word substitutions."""

from __future__ import annotations

from collections.abc import Sequence

from regard.attacks._lockstep import hunt
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
    cost="width x words x many forwards a round; the budget usually ends it",
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
    """Several half-changed texts are followed at once until one is answered otherwise: one record per example.

    Finds pairs of words that only work together, which a greedy search misses, for more questions.
    """
    instead = substitutes(case, source, many)
    return hunt(case, threat, lambda i, text: search(text, instead, importance, width, words), "beam")
