"""Greedy misspelling."""

from __future__ import annotations

from collections.abc import Sequence

from regard.attacks._lockstep import lockstep_search
from regard.attacks._search import Importance, greedy
from regard.attacks._substitutes import substitutes
from regard.protocols import Case
from regard.records import Attacked, Threat
from regard.registry import attack


@attack(
    access="black box",
    modality=("text",),
    cite="Gao et al. 2018 (DeepWordBug); Pruthi et al. 2019",
    formula="words by importance; each gets the one-character edit that lowers the log-odds of the prediction most",
    cost="one forward per word, then `many` per word changed",
    misleads="a word-level model maps every misspelling to the unknown token, so this equals deletion",
)
def greedy_char(
    case: Case, threat: Threat, *, importance: Importance = "deletion", many: int = 16
) -> Sequence[Attacked]:
    """Misspell word after word by one character until the prediction flips: one record per example.

    Swaps, deletions, insertions and slips to a neighbouring key inside the word; its first and last character stay.
    `many` of them are drawn for each word. importance: by deletion, or by one gradient (white box).
    """
    misspelt = substitutes(case, "misspellings", many)
    return lockstep_search(case, threat, lambda i, text: greedy(text, misspelt, importance), "greedy_char")
